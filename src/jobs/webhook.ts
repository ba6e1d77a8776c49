import {
  MAX_WEBHOOKS_PER_ENDPOINT,
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
import type { FailedAttempt, OwedDelivery } from '../store/webhook-deliveries.ts';
import type { Logger } from '../telemetry.ts';
import type { WebhookClient, WebhookOutcome } from '../vendors/webhook-client.ts';
import { signWebhook } from '../vendors/webhook-signature.ts';

declare module '../queues/queues.ts' {
  interface JobHandlers {
    readonly webhook: ReturnType<typeof createWebhookJob>;
    readonly event: ReturnType<typeof createWebhookJob>;
  }
}

/**
 * Delivers one event to one webhook; one handler for both queues of webhooks, since it counts what is under
 * way. After a failed attempt the outbox row is relayed again later, so that the
 * schedule is in the database and survives the queue. Events may arrive twice and out of order, which
 * receivers see by the `webhook-id` and the sequence.
 */
export function createWebhookJob(deps: {
  readonly store: Pick<
    Store,
    | 'openDelivery'
    | 'recordDelivered'
    | 'recordFailedAttempt'
    | 'recordUndeliverable'
    | 'postponeDelivery'
    | 'finishOutbox'
  >;
  readonly client: Pick<WebhookClient, 'post'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly clock: Clock;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
}): JobHandler {
  const { store } = deps;
  const underWay = createTally();

  return async function webhookJob({ outboxId, relays }) {
    const delivery = await store.openDelivery(outboxId);
    if (delivery === null) {
      await store.finishOutbox(outboxId, null);
    } else if (isSuperseded(delivery, relays)) {
      return { kind: 'done' };
    } else if (!hasEndpoint(delivery)) {
      await store.recordUndeliverable(delivery, 'no_endpoint');
    } else {
      const wait = waitSeconds(delivery);
      if (wait === 0) return attempt(delivery);
      deps.relay.relay(await store.postponeDelivery(delivery, wait));
    }
    return { kind: 'done' };
  };

  /**
   * Seconds for which a delivery has to wait for its endpoint; 0 for none. The wait is random and grows with
   * the delivery's age, so that the backlog of one endpoint does not keep the queue busy.
   */
  function waitSeconds({ ageSeconds, endpoint }: Reachable): number {
    if (endpoint.heldSeconds > 0) return endpoint.heldSeconds * (1 + deps.random());
    const { ofEndpoint, ofOwner } = namesOf(endpoint);
    const hasPlace = underWay.of(ofEndpoint) < MAX_WEBHOOKS_PER_ENDPOINT;
    if (hasPlace && underWay.of(ofOwner) < MAX_WEBHOOKS_PER_STORE) return 0;
    return WEBHOOK_BUSY_SECONDS + deps.random() * Math.min(ageSeconds / 2, WEBHOOK_HOLD_MAX_SECONDS);
  }

  async function attempt(delivery: Reachable): Promise<JobResult> {
    const names = Object.values(namesOf(delivery.endpoint));
    for (const name of names) underWay.add(name, 1);
    try {
      return await record(delivery, await send(delivery));
    } finally {
      for (const name of names) underWay.add(name, -1);
    }
  }

  function send({ id, payload, endpoint: { url, secret, oldSecret } }: Reachable): Promise<WebhookOutcome> {
    const headers = signWebhook(secret, id, deps.clock.now(), payload, oldSecret);
    return deps.client.post({ url, headers, body: payload });
  }

  async function record(delivery: Reachable, outcome: WebhookOutcome): Promise<JobResult> {
    if (outcome.kind === 'stopped') return { kind: 'retry', reason: 'stopped' };
    if (outcome.kind === 'unanswered' && outcome.code === 'busy') {
      deps.relay.relay(await store.postponeDelivery(delivery, WEBHOOK_BUSY_SECONDS));
      return { kind: 'done' };
    }
    const result = outcome.kind === 'answered' ? String(outcome.status) : outcome.code;
    if (outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300) {
      await store.recordDelivered(delivery, result);
      return { kind: 'done' };
    }
    const receiver = receiverAfter(outcome);
    const retryInSeconds = receiver === 'gone' ? null : retryAfter(delivery, deps.random());
    const { outbox, disabled } = await store.recordFailedAttempt(delivery, { result, retryInSeconds, receiver });
    deps.relay.relay(outbox);
    const { id: webhookId, ownerId } = delivery.endpoint;
    const fields = { ownerId, webhookId, deliveryId: delivery.id, result };
    if (disabled) deps.logger.warn(fields, "a store's webhook was disabled");
    else deps.logger.info(fields, 'a webhook failed');
    return { kind: 'done' };
  }
}

type Reachable = OwedDelivery & { readonly endpoint: NonNullable<OwedDelivery['endpoint']> };

const hasEndpoint = (delivery: OwedDelivery): delivery is Reachable => delivery.endpoint !== null;

/** By a prefix, since the webhook that the operator set has its store's id. */
const namesOf = ({ id, ownerId }: Reachable['endpoint']) => ({ ofEndpoint: `webhook:${id}`, ofOwner: `of:${ownerId}` });

/** Counts by name. What is at zero takes no memory. */
function createTally() {
  const counts = new Map<string, number>();
  return {
    of: (name: string): number => counts.get(name) ?? 0,
    add(name: string, change: number): void {
      const count = (counts.get(name) ?? 0) + change;
      if (count === 0) counts.delete(name);
      else counts.set(name, count);
    },
  };
}

/**
 * Whether a later job makes the delivery: the row was postponed and relayed again while the queue still had
 * this job, or the queue runs this job a second time. If the row was relayed again without being postponed,
 * the first job to run makes the delivery, so that in a long queue each job does not leave it to the next.
 */
const isSuperseded = (delivery: OwedDelivery, relays: number | undefined): boolean =>
  relays !== undefined && relays < delivery.relays && delivery.dueInSeconds > 0;

/** Statuses that refuse this body, but perhaps not another one. */
const REFUSALS: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);

/**
 * What a failed attempt says of the receiver. Any status but `REFUSALS` and 410, also a redirect, is its
 * failure.
 */
function receiverAfter(outcome: WebhookOutcome): FailedAttempt['receiver'] {
  if (outcome.kind !== 'answered') return 'failing';
  const { status } = outcome;
  if (status === 410) return 'gone';
  return REFUSALS.has(status) ? 'refuses' : 'failing';
}

/** Seconds until the next attempt of a failed delivery; null after WEBHOOK_TRIED_SECONDS of attempts. */
export function retryAfter(
  { attempts, ageSeconds }: Pick<OwedDelivery, 'attempts' | 'ageSeconds'>,
  random: number,
): number | null {
  const left = WEBHOOK_TRIED_SECONDS - ageSeconds;
  if (left <= 0) return null;
  const pause = WEBHOOK_RETRY_SECONDS[Math.min(attempts, WEBHOOK_RETRY_SECONDS.length - 1)] ?? 0;
  return Math.min(pause * (1 + WEBHOOK_JITTER * random), left);
}
