import { STATE_CODES } from '../domain/address.ts';
import { CANCEL_REASONS, ORDER_STATUSES, RELEASE_REASONS, UNDELIVERABLE_REASONS } from '../domain/order.ts';
import { SCENARIO_CARDS, SCENARIO_DRIVERS, SCENARIO_PHONES } from '../domain/scenario.ts';
import { STORE_EVENT_TYPES } from '../domain/store-event.ts';
import { ONE_LINE, PLAUSIBLE_EMAIL, SOME_LINES } from '../domain/text.ts';
import { TIER_IDS } from '../domain/tier.ts';
import { SIZES } from '../domain/vehicle.ts';
import { DELIVERY_STATUSES, EVERY_EVENT_TYPE } from '../domain/webhook.ts';
import {
  below,
  MAX_ACCURACY_METERS,
  MAX_COMMIT_BATCH,
  MAX_EMAIL_LENGTH,
  MAX_INSTRUCTIONS_LENGTH,
  MAX_NAME_LENGTH,
  MAX_WEBHOOK_URL_LENGTH,
} from '../limits.ts';

/** Longest pickup address: a store's name, street, suite, city, state, ZIP and country in one line. */
export const MAX_PICKUP_ADDRESS_LENGTH = 500;
/** Longest `line1` or `line2` of a dropoff, well above any US street address. */
const MAX_ADDRESS_LINE_LENGTH = 200;
/** Longest city name, well above any US place name. */
export const MAX_CITY_LENGTH = 100;
/** Longest identifier that is looked at. The service's own have 36 characters. */
const MAX_ID_LENGTH = 64;
/** Longest `external_id`, a store's own number of the order. Shops' numbers have under 50. */
const MAX_EXTERNAL_ID_LENGTH = 255;
/** Most keys of an order's `metadata`, with MAX_METADATA_VALUE_LENGTH 11 KB of ASCII together. */
export const MAX_METADATA_KEYS = 20;
/** Longest key of `metadata`. */
export const MAX_METADATA_KEY_LENGTH = 40;
/** Longest value of `metadata`. */
const MAX_METADATA_VALUE_LENGTH = 500;
/** Most lines of an order's `items`; a driver reads them at the store. */
export const MAX_ITEMS = 50;
/** Longest name of an item, a product's title. */
const MAX_ITEM_NAME_LENGTH = 200;
/** Largest quantity of one item. */
const MAX_ITEM_QUANTITY = 999;
/** Highest speed in meters per second: an airliner's, so that no phone's noise is refused. */
const MAX_SPEED_METERS_PER_SECOND = 300;
/** Most orders of one batch. Below MAX_COMMIT_BATCH: one commit has room for them and for those of others. */
export const MAX_ORDERS_PER_BATCH = 100;
/** Orders on a page of a store's list, unless the store asks for another number up to 100. */
export const DEFAULT_PAGE_SIZE = 50;
/** Longest id that a phone may give an action, in characters. A UUID has 36. */
const MAX_ACTION_ID_LENGTH = 64;

below({ MAX_ORDERS_PER_BATCH }, { MAX_COMMIT_BATCH });

/** No U+0000, which Postgres cannot store, and no half of a surrogate pair, which is no character. */
export const STORABLE_TEXT = '^[^\\u0000\\ud800-\\udfff]*$';
export const E164_PHONE = '^\\+[1-9]\\d{6,14}$';
export const ZIP = '^\\d{5}(?:-\\d{4})?$';
/** RFC 3339, also without seconds of zero, as Java's `OffsetDateTime` leaves them out, or the colon of PHP's zones. */
export const TIMESTAMP = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d{1,9})?)?(?:Z|[+-]\\d\\d:?\\d\\d)$';
/** A key of an order's `metadata`. */
export const METADATA_KEY = `^[\\w.-]{1,${MAX_METADATA_KEY_LENGTH}}$`;

/** A phone's id for an action, such as a UUID. */
export const ACTION_ID = '^[\\w.:-]+$';
/** A point of P-256 without compression, 65 bytes in base64url: 0x04 is its first byte. */
export const PUSH_KEY = '^B[\\w-]{86}=?$';
/** 16 bytes in base64url. */
export const PUSH_SECRET = '^[\\w-]{22}(?:==)?$';
/** 1 to 100. */
export const PAGE_SIZE = '^(?:[1-9]\\d?|100)$';
/** Minutes that a clock is ahead of UTC, or behind it. */
export const UTC_OFFSET = '^-?\\d{1,3}$';
/** A cursor of events, or the plain number that older versions gave; 18 digits fit 64 bits. */
export const EVENT_CURSOR = '^(\\d{1,18}|[\\w-]{22})$';
/** 0 to MAX_EVENT_WAIT_SECONDS. */
export const EVENT_WAIT = '^(?:1?\\d|20)$';
/** Base64url, as `GET /orders` makes it. */
export const CURSOR = '^[\\w-]+$';

/** The validator of every text has STORABLE_TEXT beside what stands here (`storable.ts`). */
function text(maxLength: number) {
  return { type: 'string', minLength: 1, maxLength } as const;
}

/** Text that is shown on one line, such as a name, which must not forge another one. */
function line(maxLength: number) {
  return { type: 'string', minLength: 1, maxLength, pattern: ONE_LINE } as const;
}

/** Text of several lines, such as instructions. */
function lines(maxLength: number) {
  return { type: 'string', maxLength, pattern: SOME_LINES } as const;
}

/** The fields of an order that the contract does not have; all are optional. */
export const orderExtras = {
  external_id: line(MAX_EXTERNAL_ID_LENGTH),
  metadata: {
    type: 'object',
    maxProperties: MAX_METADATA_KEYS,
    propertyNames: { pattern: METADATA_KEY },
    additionalProperties: lines(MAX_METADATA_VALUE_LENGTH),
  },
  items: {
    type: 'array',
    maxItems: MAX_ITEMS,
    items: {
      type: 'object',
      required: ['name', 'quantity'],
      properties: {
        name: line(MAX_ITEM_NAME_LENGTH),
        quantity: { type: 'integer', minimum: 1, maximum: MAX_ITEM_QUANTITY },
      },
    },
  },
  pickup_instructions: lines(MAX_INSTRUCTIONS_LENGTH),
  dropoff_instructions: lines(MAX_INSTRUCTIONS_LENGTH),
  leave_at_door: { type: 'boolean', default: false },
  ready_at: { type: 'string', pattern: TIMESTAMP },
  deliver_after: { type: 'string', pattern: TIMESTAMP },
  deliver_by: { type: 'string', pattern: TIMESTAMP },
  size: { type: 'string', enum: SIZES, default: 'small' },
} as const;

const namesOf = <Name extends string>(table: Readonly<Record<Name, unknown>>) => Object.keys(table) as Name[];

/** An order is cancelled at an address of its own. */
const ADVANCED_TO = ORDER_STATUSES.filter((status) => status !== 'cancelled');

/** The bad day that an order of the sandbox may ask for; see `Scenario`. */
const scenario = {
  type: 'object',
  properties: {
    card: { type: 'string', enum: namesOf(SCENARIO_CARDS) },
    text: { type: 'string', enum: namesOf(SCENARIO_PHONES) },
    driver: { type: 'string', enum: SCENARIO_DRIVERS },
  },
} as const;

/** What every action may hold: the phone's id for it, so that a repetition changes nothing, and its time. */
const stamp = {
  action_id: { type: 'string', minLength: 1, maxLength: MAX_ACTION_ID_LENGTH, pattern: ACTION_ID },
  captured_at: { type: 'string', pattern: TIMESTAMP },
} as const;

/** What a webhook is told of: types of events, or `*` alone for all. */
const eventTypes = {
  type: 'array',
  minItems: 1,
  maxItems: STORE_EVENT_TYPES.length,
  uniqueItems: true,
  items: { type: 'string', enum: [EVERY_EVENT_TYPE, ...STORE_EVENT_TYPES] },
} as const;

/**
 * What requests may hold, as JSON Schema (draft 7). A schema describes a body after `*-input.ts` has trimmed
 * it. `scripts/build-validators.mjs` compiles each into the validator of the same name; `FromSchema` derives
 * its type.
 */
export const schemas = {
  /**
   * `POST /orders/create` (contract, parts 2.2, 2.3 and 4.1), with `orderExtras`. Only the sandbox reads
   * `sandbox`.
   */
  placeOrder: {
    type: 'object',
    required: ['retailer_id', 'customer', 'pickup_address', 'dropoff_address'],
    properties: {
      retailer_id: text(MAX_ID_LENGTH),
      customer: {
        type: 'object',
        required: ['name', 'email', 'phone'],
        properties: {
          name: line(MAX_NAME_LENGTH),
          email: { type: 'string', minLength: 1, maxLength: MAX_EMAIL_LENGTH, pattern: PLAUSIBLE_EMAIL },
          phone: { type: 'string', minLength: 1, pattern: E164_PHONE },
          sms_opt_in: { type: 'boolean', default: false },
        },
      },
      pickup_address: line(MAX_PICKUP_ADDRESS_LENGTH),
      dropoff_address: {
        type: 'object',
        required: ['line1', 'city', 'state', 'zip'],
        properties: {
          line1: line(MAX_ADDRESS_LINE_LENGTH),
          line2: line(MAX_ADDRESS_LINE_LENGTH),
          city: line(MAX_CITY_LENGTH),
          state: { type: 'string', enum: STATE_CODES },
          zip: { type: 'string', minLength: 1, pattern: ZIP },
        },
      },
      delivery_tier: { type: 'string', enum: TIER_IDS, default: 'standard' },
      ...orderExtras,
      sandbox: scenario,
    },
  },

  /** `PUT /track/{token}/dropoff`. */
  changeDropoff: {
    type: 'object',
    additionalProperties: false,
    required: ['dropoff_instructions', 'leave_at_door'],
    properties: {
      dropoff_instructions: lines(MAX_INSTRUCTIONS_LENGTH),
      leave_at_door: { type: 'boolean' },
    },
  },

  /** `POST /orders/batch`; each order is validated by itself. */
  placeBatch: {
    type: 'object',
    additionalProperties: false,
    required: ['orders'],
    properties: { orders: { type: 'array', minItems: 1, maxItems: MAX_ORDERS_PER_BATCH } },
  },

  /** `PUT /driver/duty`. */
  driverDuty: {
    type: 'object',
    required: ['on_duty'],
    properties: { on_duty: { type: 'boolean' }, until: { type: 'string', pattern: TIMESTAMP } },
  },

  /** The query of `GET /driver/day`. */
  driverDay: { type: 'object', properties: { utc_offset_minutes: { type: 'string', pattern: UTC_OFFSET } } },

  /** `POST /driver/location`: degrees, meters, meters per second, and when the phone took it. */
  driverLocation: {
    type: 'object',
    required: ['lat', 'lng'],
    properties: {
      lat: { type: 'number', minimum: -90, maximum: 90 },
      lng: { type: 'number', minimum: -180, maximum: 180 },
      accuracy_m: { type: 'number', minimum: 0, maximum: MAX_ACCURACY_METERS },
      heading: { type: 'number', minimum: 0, maximum: 360 },
      speed: { type: 'number', minimum: 0, maximum: MAX_SPEED_METERS_PER_SECOND },
      captured_at: { type: 'string', pattern: TIMESTAMP },
    },
  },

  /** `POST /driver/sign-in`: the code of a link, and the phone's own id for this try. */
  driverSignIn: {
    title: 'SignIn',
    type: 'object',
    required: ['code', 'attempt'],
    properties: {
      code: { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH },
      attempt: { type: 'string', minLength: 1, maxLength: MAX_ACTION_ID_LENGTH, pattern: ACTION_ID },
    },
  },

  /** `POST /driver/push`, as `PushSubscription.toJSON` writes it. */
  pushSubscription: {
    type: 'object',
    required: ['endpoint', 'keys'],
    properties: {
      endpoint: { type: 'string', minLength: 1, maxLength: MAX_WEBHOOK_URL_LENGTH },
      keys: {
        type: 'object',
        required: ['p256dh', 'auth'],
        properties: {
          p256dh: { type: 'string', maxLength: MAX_ID_LENGTH * 2, pattern: PUSH_KEY },
          auth: { type: 'string', maxLength: MAX_ID_LENGTH, pattern: PUSH_SECRET },
        },
      },
    },
  },

  /** `DELETE /driver/push`; without a body it means every phone. */
  pushEndpoint: {
    type: 'object',
    properties: { endpoint: { type: 'string', minLength: 1, maxLength: MAX_WEBHOOK_URL_LENGTH } },
  },

  /** `POST /driver/orders/{id}/pick-up` and `…/return`; the query of `…/deliver`. */
  driverAction: { type: 'object', properties: stamp },

  /** `POST /driver/orders/{id}/release`. */
  release: {
    type: 'object',
    required: ['reason'],
    properties: { reason: { type: 'string', enum: RELEASE_REASONS }, ...stamp },
  },

  /** `POST /driver/orders/{id}/undeliverable`. */
  undeliverable: {
    type: 'object',
    required: ['reason'],
    properties: { reason: { type: 'string', enum: UNDELIVERABLE_REASONS }, ...stamp },
  },

  /** `POST /orders/{id}/cancel`. */
  cancelOrder: {
    type: 'object',
    additionalProperties: false,
    required: ['reason'],
    properties: { reason: { type: 'string', enum: CANCEL_REASONS } },
  },

  /** `POST /sandbox/orders/{id}/advance`. */
  advance: {
    type: 'object',
    additionalProperties: false,
    properties: { to: { type: 'string', enum: ADVANCED_TO } },
  },

  /** What takes no field yet, and whose body may be left out. */
  noFields: { type: 'object', additionalProperties: false, properties: {} },

  /** `POST /webhooks`. */
  addWebhook: {
    type: 'object',
    additionalProperties: false,
    required: ['url'],
    properties: { url: text(MAX_WEBHOOK_URL_LENGTH), event_types: eventTypes },
  },

  /** `PATCH /webhooks/{id}`. */
  changeWebhook: {
    type: 'object',
    additionalProperties: false,
    properties: { url: text(MAX_WEBHOOK_URL_LENGTH), event_types: eventTypes, enabled: { type: 'boolean' } },
  },

  /** The query of `GET /webhooks/{id}/deliveries`. */
  listDeliveries: {
    type: 'object',
    properties: {
      status: { type: 'string', enum: DELIVERY_STATUSES },
      limit: { type: 'string', pattern: PAGE_SIZE },
      cursor: { type: 'string', minLength: 1, maxLength: 100, pattern: CURSOR },
    },
  },

  /** The query of `GET /orders`. */
  listOrders: {
    type: 'object',
    properties: {
      status: { type: 'string', enum: ORDER_STATUSES },
      external_id: line(MAX_EXTERNAL_ID_LENGTH),
      created_after: { type: 'string', pattern: TIMESTAMP },
      created_before: { type: 'string', pattern: TIMESTAMP },
      updated_after: { type: 'string', pattern: TIMESTAMP },
      retailer_id: text(MAX_ID_LENGTH),
      limit: { type: 'string', pattern: PAGE_SIZE },
      cursor: { type: 'string', minLength: 1, maxLength: 100, pattern: CURSOR },
    },
  },

  /** The query of `GET /events`. */
  listEvents: {
    type: 'object',
    properties: {
      after: { type: 'string', pattern: EVENT_CURSOR },
      limit: { type: 'string', pattern: PAGE_SIZE },
      wait: { type: 'string', pattern: EVENT_WAIT },
    },
  },
} as const;
