import { STORE_EVENT_TYPES } from '../domain/store-event.ts';
import { DELIVERY_STATUSES, EVERY_EVENT_TYPE } from '../domain/webhook.ts';
import {
  BOOLEAN,
  choice,
  ID,
  INTEGER,
  listOf,
  named,
  object,
  operations,
  orNull,
  STRING,
  success,
  TIME,
} from '../http/openapi/schema.ts';
import { schemas } from '../http/schemas.ts';

/** What `/openapi.json` says of the routes of webhooks. */

const fields = {
  id: ID,
  url: STRING,
  event_types: listOf(choice([EVERY_EVENT_TYPE, ...STORE_EVENT_TYPES])),
  enabled: BOOLEAN,
  disabled_at: orNull(TIME),
  disabled_because: orNull(choice(['off', 'failing', 'gone'])),
  failing_since: orNull(TIME),
  old_secret_until: orNull(TIME),
  set_by: choice(['key', 'operator']),
  created_at: TIME,
};
const WEBHOOK = named('Webhook', object(fields));
const NEW_WEBHOOK = named('WebhookWithSecret', object({ ...fields, secret: STRING }));

const DELIVERY = named(
  'Delivery',
  object({
    id: ID,
    type: choice(STORE_EVENT_TYPES),
    order_id: ID,
    sequence: INTEGER,
    status: choice(DELIVERY_STATUSES),
    attempts: INTEGER,
    result: orNull(STRING),
    created_at: TIME,
    tried_at: orNull(TIME),
    next_try_at: orNull(TIME),
  }),
);

const ofOne = ['not_found', 'rate_limited'] as const;
const operation = operations({ tag: 'Webhooks', secret: 'read_key', errors: ofOne });

export const listWebhooks = operation('listWebhooks', 'List webhooks', {
  reply: { webhooks: listOf(WEBHOOK) },
  errors: ['rate_limited'],
});

export const addWebhook = operation('addWebhook', 'Add a webhook', {
  description: 'The reply has the signing secret, which is in no later one.',
  body: named('AddWebhook', schemas.addWebhook),
  replies: { 201: success({ webhook: NEW_WEBHOOK }) },
  errors: ['illegal_transition', 'rate_limited'],
});

export const getWebhook = operation('getWebhook', 'Read one webhook', { reply: { webhook: WEBHOOK } });

export const changeWebhook = operation('changeWebhook', 'Change a webhook', {
  description: 'What is left out stays.',
  body: named('ChangeWebhook', schemas.changeWebhook),
  reply: { webhook: WEBHOOK },
});

export const removeWebhook = operation('removeWebhook', 'Remove a webhook', { reply: { message: STRING } });

export const rotateWebhookSecret = operation('rotateWebhookSecret', 'Make a new signing secret', {
  description: 'Until `old_secret_until` every request is signed by both.',
  body: schemas.noFields,
  reply: { webhook: NEW_WEBHOOK },
});

export const testWebhook = operation('testWebhook', 'Send a test and read what your server answered', {
  body: schemas.noFields,
  reply: { message: STRING, test: object({ event_id: ID, delivered: BOOLEAN, result: STRING }) },
});

export const listDeliveries = operation('listDeliveries', 'List what a webhook was told, newest first', {
  query: schemas.listDeliveries,
  replies: { 200: named('DeliveryPage', success({ deliveries: listOf(DELIVERY), next_cursor: orNull(STRING) })) },
});

export const replayDelivery = operation('replayDelivery', 'Send a delivery again', {
  description: 'With the same id and body, and for another day.',
  body: schemas.noFields,
  reply: {
    delivery: named('ReplayedDelivery', object({ id: ID, status: { type: 'string', const: 'pending' } })),
  },
  errors: [...ofOne, 'illegal_transition'],
});
