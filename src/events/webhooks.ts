import { ServiceError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import { EVERY_EVENT_TYPE, TOO_MANY_WEBHOOKS } from '../domain/webhook.ts';
import { JSON_BODY, NO_FIELDS, parsed, refuseFields } from '../http/input.ts';
import { asAvailable, asWritten } from '../http/outcomes.ts';
import type { StoreReader } from '../http/readers.ts';
import { countRead, type StoreRates } from '../http/store-rate.ts';
import { valid } from '../http/validate.ts';
import type { Webhook } from '../store/events/webhooks.ts';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import { validateNewWebhook, validateWebhookChange } from './webhook-input.ts';
import {
  addWebhook,
  changeWebhook,
  getWebhook,
  listWebhooks,
  removeWebhook,
  rotateWebhookSecret,
} from './webhook-operations.ts';
import { createOwnerRate, noSuchWebhook, ownerOf, type WebhookManagers, webhookIdOf } from './webhook-owner.ts';
import { newWebhookSecret } from './webhook-signature.ts';

/** Times a minute that an owner may add, change, rotate or remove webhooks in one process. Each may relay much. */
const WEBHOOK_CHANGES_PER_MINUTE = 20;

const LOOK = 'See GET /webhooks.';

/**
 * The webhooks of a store: `GET` and `POST /webhooks`, `GET`, `PATCH` and `DELETE /webhooks/{id}`, and
 * `POST /webhooks/{id}/rotate-secret`. A secret is in the reply that makes it, and in no other.
 */
export function webhookRoutes(parts: {
  readonly stores: WebhookManagers;
  readonly reads: StoreRates;
  readonly store: Pick<
    Store,
    'listWebhooks' | 'findWebhook' | 'addWebhook' | 'changeWebhookOf' | 'rotateWebhookSecret' | 'removeWebhook'
  >;
  readonly sandbox: boolean;
}): Route<StoreReader>[] {
  const { stores, reads, store, sandbox } = parts;
  const { authenticate } = stores;
  const countChange = createOwnerRate(
    WEBHOOK_CHANGES_PER_MINUTE,
    60,
    `Webhooks may be changed ${WEBHOOK_CHANGES_PER_MINUTE} times a minute; this time nothing was changed.`,
  );

  const list: Route<StoreReader> = {
    method: 'get',
    pattern: '/webhooks',
    operation: listWebhooks,
    authenticate,
    async handle({ principal, alwaysReplyWith }) {
      await countRead(reads, principal, alwaysReplyWith);
      const webhooks = await asAvailable(store.listWebhooks(ownerOf(principal)));
      return json(200, { success: true, webhooks: webhooks.map(toWire) });
    },
  };

  const add: Route<StoreReader> = {
    method: 'post',
    pattern: '/webhooks',
    operation: addWebhook,
    authenticate,
    body: JSON_BODY,
    onDeadline: 'outcome_unknown',
    async handle({ principal, body }) {
      const { url, eventTypes } = valid(validateNewWebhook(parsed(body), sandbox));
      const owner = ownerOf(principal);
      await countChange(owner);
      const secret = newWebhookSecret();
      const added = await asWritten(store.addWebhook(owner, { id: newId(), url, eventTypes, secret }), LOOK);
      if (!added) throw new ServiceError('illegal_transition', TOO_MANY_WEBHOOKS);
      return json(201, { success: true, webhook: { ...toWire(added), secret } });
    },
  };

  const get: Route<StoreReader> = {
    method: 'get',
    pattern: '/webhooks/:id',
    operation: getWebhook,
    authenticate,
    async handle({ head, principal, alwaysReplyWith }) {
      const id = webhookIdOf(head);
      await countRead(reads, principal, alwaysReplyWith);
      return replyWith(await asAvailable(store.findWebhook(ownerOf(principal), id)));
    },
  };

  const change: Route<StoreReader> = {
    method: 'patch',
    pattern: '/webhooks/:id',
    operation: changeWebhook,
    authenticate,
    body: JSON_BODY,
    onDeadline: 'outcome_unknown',
    async handle({ head, principal, body }) {
      const wanted = valid(validateWebhookChange(parsed(body), sandbox));
      const id = webhookIdOf(head);
      const owner = ownerOf(principal);
      await countChange(owner);
      return replyWith(await asWritten(store.changeWebhookOf(owner, id, wanted), 'Send it again; that is safe.'));
    },
  };

  const rotate: Route<StoreReader> = {
    method: 'post',
    pattern: '/webhooks/:id/rotate-secret',
    operation: rotateWebhookSecret,
    authenticate,
    body: NO_FIELDS,
    onDeadline: 'outcome_unknown',
    async handle({ head, principal, body }) {
      refuseFields(body);
      const id = webhookIdOf(head);
      const owner = ownerOf(principal);
      await countChange(owner);
      const secret = newWebhookSecret();
      return replyWith(await asWritten(store.rotateWebhookSecret(owner, id, secret), LOOK), { secret });
    },
  };

  const remove: Route<StoreReader> = {
    method: 'delete',
    pattern: '/webhooks/:id',
    operation: removeWebhook,
    authenticate,
    onDeadline: 'outcome_unknown',
    async handle({ head, principal }) {
      const id = webhookIdOf(head);
      const owner = ownerOf(principal);
      await countChange(owner);
      if (!(await asWritten(store.removeWebhook(owner, id), LOOK))) throw noSuchWebhook();
      return json(200, { success: true, message: 'The webhook was removed.' });
    },
  };

  return [list, add, get, change, rotate, remove];
}

function replyWith(webhook: Webhook | null, more: { readonly secret?: string } = {}) {
  if (!webhook) throw noSuchWebhook();
  return json(200, { success: true, webhook: { ...toWire(webhook), ...more } });
}

const toWire = (webhook: Webhook) => ({
  id: webhook.id,
  url: webhook.url,
  event_types: webhook.eventTypes ?? [EVERY_EVENT_TYPE],
  enabled: webhook.disabledAt === null,
  disabled_at: webhook.disabledAt,
  disabled_because: webhook.disabledBecause,
  failing_since: webhook.failingSince,
  old_secret_until: webhook.oldSecretUntil,
  set_by: webhook.setBy,
  created_at: webhook.createdAt,
});
