import { ServiceError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import { Tally } from '../domain/tally.ts';
import { resultForStore, WEBHOOK_TEST_TYPE, type WebhookOwner } from '../domain/webhook.ts';
import { NO_FIELDS, refuseFields } from '../http/input.ts';
import { asAvailable } from '../http/outcomes.ts';
import type { StoreReader } from '../http/readers.ts';
import type { WebhookAddress } from '../store/events/webhooks.ts';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import type { WebhookClient, WebhookOutcome } from '../vendors/webhook-client.ts';
import { testWebhook } from './webhook-operations.ts';
import { createOwnerRate, noSuchWebhook, ownerOf, type WebhookManagers, webhookIdOf } from './webhook-owner.ts';
import { signWebhook } from './webhook-signature.ts';

/** Tests of webhooks of one owner a minute in one process: enough by hand, and too few to search for ports. */
export const WEBHOOK_TESTS_PER_MINUTE = 10;

/**
 * `POST /webhooks/{id}/test`: sends an event at once, also to a disabled webhook, and says what the receiver
 * answered. It is not kept, and counts neither for the webhook nor against it. An owner makes one at a time.
 *
 * @param parts.client has a time-out below the deadline of a request
 */
export function webhookTestRoute(parts: {
  readonly stores: WebhookManagers;
  readonly store: Pick<Store, 'findWebhookAddress'>;
  readonly client: Pick<WebhookClient, 'post'>;
  readonly now: () => number;
}): Route<StoreReader> {
  const { stores, store, client, now } = parts;
  const underWay = new Tally();
  const count = createOwnerRate(
    WEBHOOK_TESTS_PER_MINUTE,
    60,
    `Webhooks may be tested ${WEBHOOK_TESTS_PER_MINUTE} times a minute; this time nothing was sent.`,
  );

  return {
    method: 'post',
    pattern: '/webhooks/:id/test',
    operation: testWebhook,
    authenticate: stores.authenticate,
    body: NO_FIELDS,
    async handle({ head, principal, body }) {
      refuseFields(body);
      const id = webhookIdOf(head);
      const owner = ownerOf(principal);
      await count(owner);
      const reply = await underWay.run(owner.id, 1, async () => {
        const address = await asAvailable(store.findWebhookAddress(owner, id));
        if (!address) throw noSuchWebhook();
        const eventId = newId();
        const outcome = await client.post(requestOf(eventId, id, owner, address, now()));
        const test = { event_id: eventId, delivered: isAccepted(outcome), result: resultOf(outcome) };
        const message = test.delivered ? 'Your server accepted the event.' : 'Your server did not accept the event.';
        return json(200, { success: true, message, test });
      });
      if (!reply) throw new ServiceError('rate_limited', 'A test is under way; this time nothing was sent.');
      return reply;
    },
  };
}

function requestOf(eventId: string, webhookId: string, owner: WebhookOwner, address: WebhookAddress, nowMs: number) {
  const body = JSON.stringify({
    type: WEBHOOK_TEST_TYPE,
    timestamp: new Date(nowMs).toISOString(),
    data: { webhook_id: webhookId, [owner.kind === 'store' ? 'retailer_id' : 'organization_id']: owner.id },
  });
  const { url, secret, oldSecret } = address;
  return { url, headers: signWebhook(secret, eventId, nowMs, body, oldSecret), body };
}

const isAccepted = (outcome: WebhookOutcome): boolean =>
  outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300;

/** @throws {ServiceError} `unavailable` where nothing was sent because of this process */
function resultOf(outcome: WebhookOutcome): string {
  if (outcome.kind === 'answered') return String(outcome.status);
  if (outcome.kind === 'stopped' || outcome.code === 'busy') {
    throw new ServiceError('unavailable', 'The test could not be made now. Try again in a moment.');
  }
  return resultForStore(outcome.code);
}
