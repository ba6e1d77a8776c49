import { ServiceError } from '../domain/errors.ts';
import { isId } from '../domain/ids.ts';
import { resultForStore } from '../domain/webhook.ts';
import { NO_FIELDS, refuseFields, wrongNames } from '../http/input.ts';
import { encodeCursor, readCursor } from '../http/list-cursor.ts';
import type { ListTurns } from '../http/list-turns.ts';
import { asAvailable, asWritten } from '../http/outcomes.ts';
import type { StoreReader } from '../http/readers.ts';
import { DEFAULT_PAGE_SIZE, schemas } from '../http/schemas.ts';
import { countRead, type StoreRates } from '../http/store-rate.ts';
import { type Validated, valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import type { DeliveryFilter, ListedDelivery } from '../store/events/webhook-history.ts';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import { listDeliveries, replayDelivery } from './webhook-operations.ts';
import {
  createOwnerRate,
  noSuchDelivery,
  noSuchWebhook,
  ownerOf,
  type WebhookManagers,
  webhookIdOf,
} from './webhook-owner.ts';

/** Deliveries that an owner may replay in an hour in one process: those of a bad day, by a script. */
const WEBHOOK_REPLAYS_PER_HOUR = 1_000;

/**
 * What a webhook was told: `GET /webhooks/{id}/deliveries?status=&limit=&cursor=`, newest first, and
 * `POST /webhooks/{id}/deliveries/{delivery_id}/replay`.
 */
export function webhookDeliveryRoutes(parts: {
  readonly stores: WebhookManagers;
  readonly reads: StoreRates;
  readonly turns: ListTurns;
  readonly store: Pick<Store, 'listDeliveriesOf' | 'findWebhook' | 'replayDelivery'>;
}): Route<StoreReader>[] {
  const { stores, reads, turns, store } = parts;
  const countReplay = createOwnerRate(
    WEBHOOK_REPLAYS_PER_HOUR,
    3_600,
    `Deliveries may be replayed ${WEBHOOK_REPLAYS_PER_HOUR} times an hour; this one was not.`,
  );

  const list: Route<StoreReader> = {
    method: 'get',
    pattern: '/webhooks/:id/deliveries',
    operation: listDeliveries,
    authenticate: stores.authenticate,
    async handle({ head, principal, alwaysReplyWith }) {
      const filter = valid(readFilter(head.query));
      const id = webhookIdOf(head);
      await countRead(reads, principal, alwaysReplyWith);
      const owner = ownerOf(principal);
      const found = await asAvailable(
        turns.run(owner.id, () => store.listDeliveriesOf(owner, id, filter)),
        TOO_SLOW,
      );
      if (!found) throw noSuchWebhook();
      const { deliveries, next } = found;
      return json(200, { success: true, deliveries: deliveries.map(toWire), next_cursor: next && encodeCursor(next) });
    },
  };

  const replay: Route<StoreReader> = {
    method: 'post',
    pattern: '/webhooks/:id/deliveries/:delivery_id/replay',
    operation: replayDelivery,
    authenticate: stores.authenticate,
    body: NO_FIELDS,
    onDeadline: 'outcome_unknown',
    async handle({ head, principal, body }) {
      refuseFields(body);
      const id = webhookIdOf(head);
      const [, deliveryId = ''] = head.params;
      if (!isId(deliveryId)) throw noSuchDelivery();
      const owner = ownerOf(principal);
      await countReplay(owner);
      if (!(await asAvailable(store.findWebhook(owner, id)))) throw noSuchWebhook();
      const outcome = await asWritten(store.replayDelivery(deliveryId, id), 'See the deliveries of the webhook.');
      if (outcome === 'unknown') throw noSuchDelivery();
      if (outcome !== 'replayed') throw new ServiceError('illegal_transition', REFUSED[outcome]);
      return json(200, { success: true, delivery: { id: deliveryId, status: 'pending' } });
    },
  };

  return [list, replay];
}

const TOO_SLOW = 'The list could not be read in time. Try again, with a smaller limit or without a status.';
const REFUSED = {
  still_tried: 'This delivery is still being tried.',
  no_endpoint: 'The webhook is disabled; enable it first.',
} as const;

const toWire = (delivery: ListedDelivery) => ({
  id: delivery.id,
  type: delivery.type,
  order_id: delivery.orderId,
  sequence: delivery.sequence,
  status: delivery.status,
  attempts: delivery.attempts,
  result: delivery.result === null ? null : resultForStore(delivery.result),
  created_at: delivery.createdAt,
  tried_at: delivery.triedAt,
  next_try_at: delivery.nextTryAt,
});

/** Names everything that is wrong at once. */
function readFilter(query: URLSearchParams): Validated<DeliveryFilter> {
  const given = Object.fromEntries(query);
  const checked = validate(validators.listDeliveries, given);
  const fields = [
    ...('fields' in checked ? checked.fields : []),
    ...wrongNames(query, schemas.listDeliveries.properties),
  ];
  const cursor = readCursor(given.cursor, fields);
  if ('fields' in checked || fields.length > 0) return { fields };
  const { status = null, limit = DEFAULT_PAGE_SIZE } = checked.ok;
  return { ok: { status, limit: Number(limit), cursor } };
}
