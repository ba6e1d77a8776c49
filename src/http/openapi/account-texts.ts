import type { FieldText } from './field-text.ts';

const TIME = '2026-11-22T13:41:00.271Z';
const WEBHOOK_ID: FieldText = { says: "The webhook's id.", example: '01a2058a-6805-78d6-ae16-983b5a8ca373' };
const DELIVERY_ID: FieldText = {
  says: "The delivery's id: the `webhook-id` that your server got.",
  example: '01a2058b-0f5e-7d30-93dd-1d6c8e3b8f0b',
};

/** The texts of batches, quotes, events, webhooks and the account, as those of `field-texts.ts`. */
export const ACCOUNT_TEXTS: Readonly<Record<string, FieldText>> = {
  // Batches.
  idempotency_key: { says: 'Makes it safe to send this order again.', example: 'order-1002' },
  'PlaceBatch.orders': { says: 'The orders, each with a key of its own.' },
  results: { says: 'What became of each order, in the order sent.' },
  index: { says: 'Its place in the list that was sent, from 0.', example: 0 },
  'PlacedOfBatch.status': { says: 'As in the reply to one order.' },
  'RefusedOfBatch.status': { says: 'As in the reply to one order.', example: 400 },
  replayed: { says: 'There where the key created the order before.' },
  retry_after_seconds: { says: 'Of a 429 and a 503: when to send it again.', example: 1 },

  // Quotes and cancellations.
  quote: { says: 'What it would cost and when it would come.' },
  serviceable: { says: 'Whether a driver goes there.' },
  fee: { says: 'The price in US cents.', example: 799 },
  currency: { says: 'Of the fee.' },
  'Quote.distance_meters': {
    says: 'From pickup to dropoff by great circle; null where the place of the dropoff is not known.',
    example: 1612,
  },
  driver_available: { says: 'Whether a driver would get the order at this moment.', example: true },
  'Quote.waiting_because': {
    says: 'Why it would wait for a driver; absent where it would get one, or waits for its time.',
    example: 'payment_required',
  },
  pickup_eta: { says: 'When the driver would have the parcel; null without a driver.' },
  delivery_eta: { says: 'When they would be at the door; null where that is not known.' },
  from: { says: 'Not before.', example: TIME },
  to: { says: 'Not after.', example: '2026-11-22T13:51:00.271Z' },
  cancellation: { says: 'What cancelling it now would do.' },
  cancellable: { says: 'Whether it can be cancelled now.', example: true },
  reason_if_not: { says: 'The status that stands in the way, else null.', example: null },
  refund_cents: { says: 'What was charged and is given back, in US cents.', example: 799 },
  fee_kept_cents: { says: 'What the order costs all the same, in US cents.', example: 0 },

  // The account.
  account: { says: 'The store that the key belongs to.' },
  'Account.name': { says: "The store's name.", example: 'Corner Market' },
  'Account.status': { says: 'Whether it takes part.', example: 'active' },
  mode: { says: 'Whether money moves.', example: 'sandbox' },
  'Account.card': {
    says: '`failing`: a charge was refused since a card was set or an order was paid.',
    example: 'set',
  },
  unpaid_orders: { says: 'Unpaid orders in a row.', example: 0 },
  unpaid_orders_allowed: { says: 'After so many of them further ones wait.', example: 3 },
  payment_required: { says: 'Whether orders wait now until one is paid.', example: false },
  rate: { says: 'On each API process; null for no bound.' },
  orders_per_second: { says: 'Orders that may be created.', example: 50 },
  reads_per_second: { says: 'What may be read.', example: 100 },

  // Events.
  'events.query.after': { says: 'The cursor behind which to begin; absent or 0: the oldest event that is kept.' },
  'events.query.limit': { says: 'Events on a page, 1 to 100; 50 if absent.' },
  'events.query.wait': { says: 'Seconds to wait where there is no event yet, 0 to 20; 0 if absent.' },
  'EventPage.events': { says: 'The events of this page, oldest first.' },
  'EventPage.next_cursor': { says: '`after` of the next page; always there.', example: 'qo3cZ4hmM2mMl1nqBjbM7w' },
  events_lost_before: { says: 'There where events up to this time are gone.', example: TIME },
  cursor: { says: 'Its place among all events.', example: 'GW8iK0yT3vQ5uXo1eNcJrA' },
  photo: {
    says: 'The path of the photo of the handover.',
    example: '/orders/01a2037d-1ae2-76a0-bb73-54073ca99160/photo',
  },
  webhook_id: WEBHOOK_ID,
  organization_id: {
    says: "There in place of `retailer_id` where the webhook is an organization's.",
    example: '01a2037f-cd7a-721b-a3a1-6dd74d7153d7',
  },

  // Webhooks.
  'webhooks.path.id': WEBHOOK_ID,
  'path.delivery_id': DELIVERY_ID,
  'webhooks.query.status': { says: 'Only deliveries in this status: still tried, taken, or given up.' },
  'webhooks.query.limit': { says: 'Deliveries on a page, 1 to 100; 50 if absent.' },
  webhook: { says: 'The webhook.' },
  webhooks: { says: 'The webhooks, oldest first.' },
  'Webhook.id': WEBHOOK_ID,
  'WebhookWithSecret.id': WEBHOOK_ID,
  url: { says: 'Where events are sent.', example: 'https://store.example/sameday' },
  event_types: { says: 'The types that it is told of; `["*"]` for all, those of later versions included.' },
  enabled: { says: 'Whether events are sent.', example: true },
  disabled_at: { says: 'Since when it is disabled, else null.', example: null },
  disabled_because: { says: 'Why it is disabled, else null.', example: null },
  failing_since: { says: 'Its first failure since it last worked, else null.', example: null },
  old_secret_until: { says: 'Until when it is signed by the secret before too, else null.', example: null },
  set_by: { says: 'Who added it.', example: 'key' },
  secret: { says: 'The signing secret; it is in no later reply.', example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
  test: { says: 'What became of the test.' },
  event_id: { says: 'The `webhook-id` that your server got.', example: '01a2058b-0f5e-7d30-93dd-1d6c8e3b8f0a' },
  delivered: { says: 'Whether your server accepted it.', example: true },
  result: {
    says: 'The status that your server answered, or a word for why there was none; null before the first try.',
    example: '204',
  },
  'test.result': { says: 'The status that your server answered, or a word for why there was none.', example: '204' },
  deliveries: { says: 'The deliveries of this page.' },
  delivery: { says: 'The delivery.' },
  'Delivery.id': DELIVERY_ID,
  'ReplayedDelivery.id': DELIVERY_ID,
  'Delivery.type': { says: 'The type of the event.', example: 'order.delivered' },
  'Delivery.status': { says: 'Whether it is still tried, was taken, or was given up.', example: 'delivered' },
  'ReplayedDelivery.status': { says: 'It is tried again.' },
  attempts: { says: 'How often it was sent.', example: 1 },
  tried_at: { says: 'When it was last sent, or null.', example: TIME },
  next_try_at: { says: 'When it is sent next, or null.', example: null },

  // The sandbox.
  'AdvanceOrder.to': { says: 'The status to reach; the next step if absent.', example: 'picked_up' },
};
