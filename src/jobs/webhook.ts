import {
  MAX_WEBHOOKS_PER_STORE,
  WEBHOOK_BUSY_SECONDS,
  WEBHOOK_HOLD_MAX_SECONDS,
  WEBHOOK_JITTER,
  WEBHOOK_RETRY_SECONDS,
  WEBHOOK_TRIED_SECONDS,
} from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';
import type { JobHandler, JobResult } from '../queues/queues.ts';
import type { Relay } from '../queues/relay.ts';
import type { Store } from '../store/store.ts';
import type { FailedTry, OwedDelivery } from '../store/webhook-deliveries.ts';
import type { Logger } from '../telemetry.ts';
import type { WebhookClient, WebhookOutcome } from '../vendors/webhook-client.ts';
import { signWebhook } from '../vendors/webhook-signature.ts';

/**
 * Tells a store of one event. A try that failed is relayed again later through its outbox row, so the schedule is in the
 * database and survives the queue. It can happen twice, and not in order: the `webhook-id` and the sequence are for that.
 */
export function createWebhookJob(deps: {
  readonly store: Pick<
    Store,
    'openDelivery' | 'recordDelivered' | 'recordFailedTry' | 'recordUndeliverable' | 'putOffDelivery' | 'finishOutbox'
  >;
  readonly client: Pick<WebhookClient, 'post'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly clock: Clock;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
}): JobHandler {
  const { store } = deps;
  const busy = new Map<string, number>();

  return async function webhookJob({ outboxId, relays }) {
    const delivery = await store.openDelivery(outboxId);
    if (delivery === null) {
      await store.finishOutbox(outboxId, null);
    } else if (isOutrun(delivery, relays)) {
      return { kind: 'done' };
    } else if (!hasEndpoint(delivery)) {
      await store.recordUndeliverable(delivery, 'no_endpoint');
    } else {
      const wait = waitSeconds(delivery);
      if (wait === 0) return attempt(delivery);
      deps.relay.relay(await store.putOffDelivery(delivery, wait));
    }
    return { kind: 'done' };
  };

  /**
   * How long a delivery has to wait for its endpoint; 0 for not at all. Waits are spread, and longer the longer it has
   * waited, so that a store's backlog does not keep the queue busy with itself.
   */
  function waitSeconds({ retailerId, ageSeconds, endpoint }: Reachable): number {
    if (endpoint.heldSeconds > 0) return endpoint.heldSeconds * (1 + deps.random());
    if ((busy.get(retailerId) ?? 0) < MAX_WEBHOOKS_PER_STORE) return 0;
    return WEBHOOK_BUSY_SECONDS + deps.random() * Math.min(ageSeconds / 2, WEBHOOK_HOLD_MAX_SECONDS);
  }

  async function attempt(delivery: Reachable): Promise<JobResult> {
    const { retailerId } = delivery;
    busy.set(retailerId, (busy.get(retailerId) ?? 0) + 1);
    try {
      return await record(delivery, await send(delivery));
    } finally {
      const left = (busy.get(retailerId) ?? 1) - 1;
      if (left > 0) busy.set(retailerId, left);
      else busy.delete(retailerId);
    }
  }

  function send({ id, payload, endpoint: { url, secret } }: Reachable): Promise<WebhookOutcome> {
    const headers = signWebhook(secret, id, deps.clock.now(), payload);
    return deps.client.post({ url, headers, body: payload });
  }

  async function record(delivery: Reachable, outcome: WebhookOutcome): Promise<JobResult> {
    if (outcome.kind === 'stopped') return { kind: 'retry', reason: 'stopped' };
    if (outcome.kind === 'unanswered' && outcome.code === 'busy') {
      deps.relay.relay(await store.putOffDelivery(delivery, WEBHOOK_BUSY_SECONDS));
      return { kind: 'done' };
    }
    const result = outcome.kind === 'answered' ? String(outcome.status) : outcome.code;
    if (outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300) {
      await store.recordDelivered(delivery, result);
      return { kind: 'done' };
    }
    const receiver = receiverAfter(outcome);
    const retryInSeconds = receiver === 'gone' ? null : retryAfter(delivery, deps.random());
    const { outbox, disabled } = await store.recordFailedTry(delivery, { result, retryInSeconds, receiver });
    deps.relay.relay(outbox);
    const told = { retailerId: delivery.retailerId, deliveryId: delivery.id, result };
    if (disabled) deps.logger.warn(told, "a store's webhook was disabled");
    else deps.logger.info(told, 'a webhook failed');
    return { kind: 'done' };
  }
}

type Reachable = OwedDelivery & { readonly endpoint: NonNullable<OwedDelivery['endpoint']> };

const hasEndpoint = (delivery: OwedDelivery): delivery is Reachable => delivery.endpoint !== null;

/**
 * A job of a row that was put off and relayed again meanwhile: the sweeper relayed the row while the queue still had this
 * one, or the queue runs it a second time. The later job tells the store. A row that was relayed again without being put
 * off is told by whichever job comes first, so that a long queue does not outrun itself.
 */
const isOutrun = (delivery: OwedDelivery, relays: number | undefined): boolean =>
  relays !== undefined && relays < delivery.relays && delivery.dueInSeconds > 0;

/** Answers about what was sent: this body is not wanted, another one may be. */
const REFUSALS: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);

/** What a failed try says of the receiver. All but `REFUSALS`, a redirect or a 404 as well, would meet the next one too. */
function receiverAfter(outcome: WebhookOutcome): FailedTry['receiver'] {
  if (outcome.kind !== 'answered') return 'ill';
  const { status } = outcome;
  if (status === 410) return 'gone';
  return REFUSALS.has(status) ? 'refuses' : 'ill';
}

/** Seconds until the next try of a delivery that has just failed; null when it has been tried for a day. */
export function retryAfter(
  { attempts, ageSeconds }: Pick<OwedDelivery, 'attempts' | 'ageSeconds'>,
  random: number,
): number | null {
  const left = WEBHOOK_TRIED_SECONDS - ageSeconds;
  if (left <= 0) return null;
  const pause = WEBHOOK_RETRY_SECONDS[Math.min(attempts, WEBHOOK_RETRY_SECONDS.length - 1)] ?? 0;
  return Math.min(pause * (1 + WEBHOOK_JITTER * random), left);
}
