import { ACCOUNT_TEXTS } from './account-texts.ts';
import type { FieldText } from './field-text.ts';

/** What a driver's phone sends beside the page. */
const PHONE_TEXTS: Readonly<Record<string, FieldText>> = {
  attempt: { says: 'An id of this try, kept until it is answered.', example: '4f1c2b1e-8f0a-4f0e-9a55-0d3f0c7c9a10' },
  'SignIn.code': { says: 'What the link has behind `#sign-in=`.', example: `sdl_${'A'.repeat(32)}` },
  driver_token: { says: "The driver's new token; the one before is dead.", example: `sdd_${'A'.repeat(32)}` },
  public_key: { says: 'For `applicationServerKey`, in base64url.', example: `B${'A'.repeat(86)}` },
  endpoint: { says: "The address of the phone's vendor.", example: 'https://push.example.com/send/1' },
  keys: { says: 'As the browser gives them.' },
  p256dh: { says: 'The public key of the phone, in base64url.', example: `B${'A'.repeat(86)}` },
  auth: { says: 'The secret of the phone, in base64url.', example: 'A'.repeat(22) },
  'query.id': { says: "The device identifier of the driver's phone; it is the secret." },
  'query.lat': { says: 'Degrees.' },
  'query.lon': { says: 'Degrees.' },
  'query.timestamp': { says: 'When it was taken: seconds or milliseconds since 1970, or ISO 8601.' },
  'query.accuracy': { says: 'Meters.' },
  'query.valid': { says: '`false` or `0` for a position of no use.' },
};

/** The store of every example; the sandbox's demo store has this id. */
export const EXAMPLE_RETAILER_ID = '01a2037f-cd7a-721b-a3a1-6dd74d7153d6';
const ORDER_ID = '01a2037d-1ae2-76a0-bb73-54073ca99160';
const DRIVER_ID = '01a2037f-d0c7-7404-aac6-b02e65e5ae50';
const TIME = '2026-11-22T13:41:00.271Z';

const WINDOW_END = { says: 'When it ends; by the tier if absent.', example: '2026-11-22T20:00:00Z', isSeldom: true };

/**
 * The text and the example of each field on the wire, by its name, or by the names that lead to it where one
 * name means several things: those of fields, and before them that of the schema. Requests, replies and
 * webhooks take them from here.
 */
const FIELD_TEXTS: Readonly<Record<string, FieldText>> = {
  ...ACCOUNT_TEXTS,

  // The reply around its content.
  success: { says: 'Whether it was done.' },
  message: { says: 'For people; it may change.', example: 'It was done.' },
  error: { says: 'What a program decides by.' },
  code: { says: "The vendor's code, or the service's own.", example: 'generic_decline' },
  'error.code': { says: 'Which error it is.', example: 'invalid_request' },
  retryable: { says: 'Whether the same request can succeed later.', example: false },
  fields: { says: 'Every field that is wrong.' },
  field: { says: 'The names that lead to it.', example: 'customer.phone' },
  'fields.message': { says: 'What is wrong with it.', example: 'must be in E.164 form, like +14155550123' },
  request_id: { says: 'As in `X-Request-Id`.', example: '01a2037f-5327-7fa7-8921-750dd4adb40f' },

  // Addresses and queries.
  'path.id': { says: "The order's id.", example: ORDER_ID },
  'path.token': { says: 'The `tracking_token` of the order; it is the secret.', example: 'D6AImaIqSNSvW-KKaO8oGypQ' },
  'query.status': { says: 'Only orders in this status.' },
  'query.external_id': { says: 'Only orders with this number of yours.' },
  'query.created_after': { says: 'Only orders created at this time or later.' },
  'query.created_before': { says: 'Only orders created before this time.' },
  'query.retailer_id': { says: 'Only orders of this store; for the key of an organization.' },
  'query.updated_after': { says: 'Only orders that changed after this time.' },
  'query.limit': { says: 'Orders on a page, 1 to 100; 50 if absent.' },
  'query.cursor': { says: '`next_cursor` of the page before.' },
  'query.action_id': { says: 'An id of the phone for this action; a repeated one changes nothing.' },
  'query.captured_at': { says: 'When it happened, by the phone.' },

  // The order.
  retailer_id: { says: "The store's id.", example: EXAMPLE_RETAILER_ID },
  customer: { says: 'Whom the order is for.' },
  'customer.name': { says: 'Name, in any script.', example: 'Jordan Lee' },
  email: { says: 'A plausible e-mail address.', example: 'jordan@example.com' },
  phone: { says: 'In E.164 form.', example: '+14155550123' },
  sms_opt_in: { says: 'Whether the customer consents to a text with the tracking link.', example: true },
  pickup_address: {
    says: "The store's address in one line, best as it is registered.",
    example: '2000 Mission St, San Francisco, CA 94110',
  },
  dropoff_address: { says: 'Where the order goes.' },
  line1: { says: 'Street and number.', example: '401 Valencia St' },
  line2: { says: 'Unit or floor.', example: 'Apt 4' },
  city: { says: 'City.', example: 'San Francisco' },
  state: { says: 'Two letters.', example: 'CA' },
  zip: { says: 'ZIP code, of five digits or nine.', example: '94103' },
  delivery_tier: { says: 'How fast, and for which fee.', example: 'standard' },
  external_id: { says: 'Your own number of the order, or null.', example: 'A-1001' },
  metadata: { says: 'Your own notes by key.', example: { basket: '7' } },
  items: { says: 'What was bought.' },
  'items.name': { says: 'What it is.', example: 'Floor lamp' },
  quantity: { says: 'How many.', example: 1 },
  pickup_instructions: { says: 'What the driver reads on the way to the store.', example: 'Ask at the counter' },
  dropoff_instructions: { says: 'What the driver reads on the way to the door.', example: 'Ring twice' },
  leave_at_door: { says: 'Whether the parcel may be left at the door.', example: false },
  ready_at: { says: 'When the parcel is ready; at once if absent.', example: '2026-11-22T17:00:00Z', isSeldom: true },
  deliver_after: { says: 'When the window of the handover begins.', example: '2026-11-22T18:00:00Z', isSeldom: true },
  'Order.ready_at': { says: 'As you sent it.', example: null },
  'Order.deliver_after': { says: 'As you sent it.', example: null },
  deliver_by: { says: 'Until when it is promised.', example: '2026-11-22T16:41:00.271Z' },
  'PlaceOrder.deliver_by': WINDOW_END,
  'QuoteRequest.deliver_by': WINDOW_END,
  'OrderOfBatch.deliver_by': WINDOW_END,
  size: { says: 'For a bag, a seat or a hold.', example: 'small' },
  estimated_delivery: { says: 'When it arrives as far as one can tell; null where one cannot.' },
  dispatch_from: { says: 'When a driver usually has to leave for it; null where that was at once.', example: null },
  sandbox: { says: 'Only in the sandbox: a bad day for this order.', isSeldom: true },
  'sandbox.card': { says: 'How the card answers.' },
  'sandbox.text': { says: 'What becomes of the texts.' },
  'sandbox.driver': { says: 'What the first driver does.' },
  warnings: { says: 'There where fields of the body were ignored: the first 20 of them.' },
  'warnings.field': { says: 'The names that lead to it.', example: 'customer.fone' },
  'warnings.message': { says: 'What became of it.', example: 'is not a field of an order; it was ignored' },
  order: { says: 'The order.' },
  orders: { says: 'The orders of this page, or those that the driver carries.' },
  next_cursor: { says: '`cursor` of the next page; null after the last one.', example: 'MTc5NTM1MjQ2MDI3MTAwMDowMWEy' },
  id: { says: "The order's id.", example: ORDER_ID },
  order_id: { says: "The order's id.", example: ORDER_ID },
  misconfigured: {
    says: 'Vendors that refuse the credentials of the service; only there where one does.',
    example: ['stripe'],
    isSeldom: true,
  },
  status: { says: 'Where the order is on its path.', example: 'driver_assigned' },
  delivery_fee: { says: 'The price in US cents.', example: 799 },
  payment_status: { says: 'What became of the charge.', example: 'paid' },
  tracking_token: { says: 'For the tracking link; treat it as a secret.', example: 'D6AImaIqSNSvW-KKaO8oGypQ' },
  tracking_url: {
    says: 'The tracking link; treat it as a secret.',
    example: 'https://sameday.example/track/D6AImaIqSNSvW-KKaO8oGypQ',
  },
  created_at: { says: 'When it was created.', example: TIME },
  payment_failure_code: { says: 'Why a charge failed, else null.', example: null },
  charge_id: { says: "Stripe's id of the charge.", example: 'pi_3Q0aZ2' },
  refund_id: { says: "Stripe's id of the refund.", example: null },
  sms_status: { says: 'What became of the text with the tracking link.', example: 'sent' },
  sms_failure_code: { says: 'Why the text failed, else null.', example: null },
  texts: { says: 'What became of each text to the customer.' },
  kind: { says: 'Which text it is.', example: 'tracking' },
  'texts.status': { says: 'What became of it.', example: 'sent' },
  failure_code: { says: 'Why it failed, else null.', example: null },
  waiting_because: {
    says: 'Only while it waits: why no driver has it; `planned` where somebody is meant for it.',
    example: 'all_drivers_busy',
  },
  driver_id: { says: 'Who has the order, or had it at the end.', example: DRIVER_ID },
  driver_name: { says: "The driver's name.", example: 'Sam Rider' },
  'driver.id': { says: "The driver's id.", example: DRIVER_ID },
  vehicle: { says: 'What they drive.', example: 'car' },
  driver_position: { says: 'Where the driver is, as the customer sees it; null where that is not shown.' },
  customer_id: { says: "The customer's id.", example: '01a2037d-1ae2-76a0-bb73-54073ca99161' },
  pickup_point: { says: 'The point that is used for the pickup.' },
  pickup_point_source: { says: 'How that point was found.', example: 'registered' },
  dropoff_address_id: { says: "The address's id.", example: '01a2037d-1ae2-76a0-bb73-54073ca99162' },
  dropoff_point: { says: 'The point of the dropoff, or null.' },
  accuracy_meters: { says: 'How far the door may be from the point.', example: 50 },
  source: { says: 'How the point was found.', example: 'geocoder' },
  lat: { says: 'Degrees, -90 to 90.', example: 37.76415 },
  lng: { says: 'Degrees, -180 to 180.', example: -122.41957 },
  proof_distance_meters: { says: 'How far from the door the driver was at the handover.', example: null },
  retry_after_seconds: { says: 'After so many seconds the charge is tried again by itself.', example: 43_200 },
  'data.proof_distance_meters': { says: 'How far from the door the driver was.', example: 12 },
  dispatch: { says: 'Each assignment.' },
  distance_meters: {
    says: "The pickup's distance from the middle of a square of about 1 km that the driver was in.",
    example: 1240,
  },
  passed_over: { says: 'How many near drivers did not get the order, by reason.', example: { busy: 2, farther: 5 } },
  reason_code: { says: 'Why it ended.', example: null },
  cancelled_by: { says: 'Who cancelled it.', example: null },
  sequence: { says: 'Grows with every event of the order.', example: 4 },
  assigned_at: { says: 'When the driver got it.', example: TIME },
  picked_up_at: { says: 'When the driver had the parcel.', example: null },
  delivered_at: { says: 'When it was handed over.', example: null },
  undeliverable_at: { says: 'When the handover failed.', example: null },
  ended_at: { says: 'When it ended without a delivery.', example: null },
  updated_at: { says: 'When it last changed.', example: TIME },
  expires_at: { says: 'When it expires if no driver has it by then.', example: '2026-11-23T13:41:00.271Z' },
  'events.sequence': { says: 'Its number among those of the order.', example: 1 },
  events: { says: 'Everything that happened, oldest first.' },
  type: { says: 'What happened.' },
  at: { says: 'When.', example: TIME },
  data: { says: 'What belongs to it.' },
  'data.refund_id': { says: "Stripe's id of the refund.", example: 're_3Q0aZ2' },
  amount_cents: { says: 'How much of the fee, in US cents.', example: 300 },
  dispute_id: { says: "Stripe's id of the dispute.", example: 'du_1Q0aZ2' },
  outcome: { says: 'For the operator.', example: 'won' },
  timestamp: { says: 'When it happened.', example: TIME },
  reason: { says: 'Why.', example: 'other' },
  by: { says: 'Who did it, where it was not the driver.', example: 'operator' },
  position_at: { says: 'When the driver was there.', example: TIME },
  captured_at: { says: "When it happened, by the phone's clock.", example: TIME },
  action_id: { says: 'An id of the phone for this action; a repeated one changes nothing.', example: 'a1' },

  // The tracking page.
  final: { says: 'Whether nothing more will happen.', example: false },
  headline: { says: 'One sentence about where the order is.', example: 'Sam is on the way with your order' },
  detail: { says: 'A second one.', example: 'You can follow them on the map.' },
  stages: { says: 'The steps of the delivery.' },
  home: { says: 'Where the door is, once the driver has no other one before it.' },
  stops_before: { says: 'Doors to which the driver goes first; null where that is unknown.', example: 0 },
  is_planned: {
    says: 'Whether it waits for its time or for the driver who is meant; then `arrival` is when it comes.',
  },
  was_released: { says: 'Whether an earlier driver gave the order back.', example: false },
  'stages.id': { says: 'Which step.', example: 'ordered' },
  label: { says: 'Its name on the page.', example: 'Ordered' },
  'stages.state': { says: 'Whether it is reached.', example: 'done' },
  store_name: { says: "The store's name.", example: 'Corner Market' },
  pickup: { says: 'Where the store is.' },
  driver: { says: 'Who brings it.' },
  first_name: { says: "The driver's first name.", example: 'Sam' },
  position: { says: 'Where the driver is, where that is known and shown.' },
  precision: { says: '`approximate` is the middle of a square of about 1 km.', example: 'exact' },
  age_ms: { says: 'How old it was when this was written.', example: 1800 },
  arrival: { says: 'The range in which it arrives, where one is known.' },
  earliest_minutes: { says: 'Whole minutes from now.', example: 6 },
  latest_minutes: { says: 'Whole minutes from now.', example: 14 },
  photo_url: { says: 'The path of the photo of the handover.', example: null },

  dropoff_notes: { says: 'What the customer may change; null from the pickup on.' },
  instructions: { says: 'What to know there, or null.', example: 'Ring twice' },

  // Drivers.
  on_duty: { says: 'Whether the driver takes orders.', example: true },
  'query.utc_offset_minutes': { says: "Minutes that the driver's clock is ahead of UTC, -840 to 840; 0 if absent." },
  day: { says: "Since the driver's last midnight." },
  'day.deliveries': { says: 'Orders handed over.', example: 7 },
  'day.returns': { says: 'Orders brought back to their store.', example: 0 },
  earnings_cents: { says: 'What both earn, in US cents, without what the operator refused.', example: 4120 },
  held_cents: { says: 'The part of it that the operator looks at first.', example: 0 },
  taken: { says: 'False where a later position is known already.', example: true },
  accuracy_m: { says: 'Meters, as the phone says.', example: 8 },
  heading: { says: 'Degrees clockwise from north.', example: 90 },
  speed: { says: 'Meters per second.', example: 7.5 },
  capacity: { says: 'How many orders the driver carries at a time.', example: 3 },
  on_duty_until: { says: 'When the driver goes home; null where they have not said so.' },
  order_ids: { says: 'The orders of the stop, fetched or brought there together.', example: [ORDER_ID] },
  'stops.accuracy_m': { says: "By how much a door's point may be off in meters, else null.", example: 50 },
  stops: { says: 'The stops in the order of driving; pickups at one store are one stop.' },
  'stops.kind': { says: 'What the driver does there.', example: 'pickup' },
  until: {
    says: 'When the driver goes home, at most 24 hours ahead; without it they stay without an end.',
    example: TIME,
  },
  wait_at: { says: 'Where a driver without an order is asked to wait; null where nothing is asked.' },
  'wait_at.name': { says: "The store's name, if it is known.", example: 'Corner Market' },
  version: { says: 'A name of the list of stops: another list has another name.', example: 'pJ0vSN_VZ2Qr' },
  driver_payout_cents: { says: 'What the driver earns by it, in US cents.', example: 600 },
  'pickup.address': { says: 'In one line, as the store sent it.', example: '2000 Mission St, San Francisco, CA 94110' },
  dropoff: { says: 'Name, phone and unit are null until the driver is near the store.' },
  'dropoff.name': { says: "The customer's name.", example: 'Jordan Lee' },
  ...PHONE_TEXTS,
};

/** Reasons by their own names, such as those of `passed_over`, need no text. */
const SELF_NAMED: ReadonlySet<string> = new Set(['passed_over']);

/** The text of the field to which these names lead: that of the longest end of them. */
export function textOf(path: readonly string[]): FieldText | undefined {
  for (let from = 0; from < path.length; from++) {
    const text = FIELD_TEXTS[path.slice(from).join('.')];
    if (text) return text;
  }
  return SELF_NAMED.has(path.at(-2) ?? '') ? { says: 'How many, for this reason.', example: 1 } : undefined;
}
