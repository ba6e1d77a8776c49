import { below, WEBHOOK_DISABLE_SECONDS, WEBHOOK_JITTER, WEBHOOK_RETRY_SECONDS } from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';
import type { JobData, JobHandler, JobResult } from '../queues/job-handler.ts';
import type { Relay } from '../queues/relay.ts';
import type { FailedAttempt, OwedDelivery } from '../store/events/webhook-deliveries.ts';
import { WEBHOOK_QUEUES } from '../store/events/webhook-parts.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry.ts';
import type { WebhookClient, WebhookOutcome } from '../vendors/webhook-client.ts';
import { signWebhook } from './webhook-signature.ts';
import { type Turn, WebhookTurns } from './webhook-turns.ts';

/** Time for which a delivery is tried. Above WEBHOOK_DISABLE_SECONDS: its last failure may disable. */
export const WEBHOOK_TRIED_SECONDS = WEBHOOK_DISABLE_SECONDS + 600;

below({ WEBHOOK_DISABLE_SECONDS }, { WEBHOOK_TRIED_SECONDS });

declare module '../queues/job-handler.ts' {
  interface JobHandlers {
    readonly webhook: ReturnType<typeof createWebhookJob>;
    readonly event: ReturnType<typeof createWebhookJob>;
  }
}

/**
 * Delivers one event to one webhook; one handler for both queues of webhooks, since it gives the places of the
 * worker. After a failed attempt the outbox row is relayed again later, so that the schedule is in the database
 * and survives the queue. What finds its receiver left alone or disabled, or no place, is parked behind it; each
 * delivery that is accepted releases the next ones. One that nothing released in WEBHOOK_PARKED_SECONDS, and that finds
 * no place again, is given up: its receiver takes fewer than come. So is, unsent, the delivery of a store that its
 * chain does not see any more. Events may arrive twice and out of order, which receivers see by the `webhook-id`
 * and the sequence.
 */
export function createWebhookJob(deps: {
  readonly store: Pick<
    Store,
    'openDelivery' | 'recordDelivered' | 'recordFailedAttempt' | 'recordUndeliverable' | 'parkDelivery' | 'finishJobs'
  >;
  readonly client: Pick<WebhookClient, 'post'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly clock: Clock;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
}): JobHandler {
  const { store } = deps;
  const turns = new WebhookTurns();

  /** The delivery of a job, if it is to be sent now; null where nothing is, or nothing is left, to be sent. */
  async function toSend(job: JobData): Promise<Reachable | null> {
    const delivery = await store.openDelivery(job.outboxId);
    if (delivery === null) {
      await store.finishJobs([job], ...WEBHOOK_QUEUES);
    } else if (isSuperseded(delivery, job.relays)) {
      return null;
    } else if (!hasEndpoint(delivery)) {
      await store.recordUndeliverable(delivery, 'no_endpoint');
    } else if (!delivery.endpoint.seesStore) {
      // As an accepted one does, or what is parked behind it would wait for the next sweep.
      const releases = delivery.endpoint.heldSeconds > 0 ? 0 : 1;
      deps.relay.relay(await store.recordUndeliverable(delivery, 'no_endpoint', releases));
    } else if (delivery.endpoint.heldSeconds > 0) {
      await store.parkDelivery(delivery);
    } else {
      return delivery;
    }
    return null;
  }

  return async function webhookJob(job) {
    const opened = await toSend(job);
    if (opened === null) return DONE;
    const turn = await turns.take(opened.endpoint);
    if (turn === null) {
      if (opened.isLeftOver) await store.recordUndeliverable(opened, 'too_slow');
      else await store.parkDelivery(opened);
      return DONE;
    }
    try {
      // While it waited in line its webhook may have been changed, or its chain may have lost the store.
      const delivery = turn.hasWaited ? await toSend(job) : opened;
      return delivery === null ? DONE : await attempt(delivery, turn);
    } finally {
      turn.end();
    }
  };

  async function attempt(delivery: Reachable, turn: Turn): Promise<JobResult> {
    const beganMs = performance.now();
    const outcome = await send(delivery);
    if (isOfReceiver(outcome)) turn.answered(performance.now() - beganMs);
    return record(delivery, outcome, turn.follows());
  }

  function send({ id, payload, endpoint: { url, secret, oldSecret } }: Reachable): Promise<WebhookOutcome> {
    const headers = signWebhook(secret, id, deps.clock.now(), payload, oldSecret);
    return deps.client.post({ url, headers, body: payload });
  }

  /** @param releases how many that are parked behind the receiver may follow, if it works */
  async function record(delivery: Reachable, outcome: WebhookOutcome, releases: number): Promise<JobResult> {
    if (outcome.kind === 'stopped') return { kind: 'retry', reason: 'stopped' };
    if (outcome.kind === 'unanswered' && outcome.code === 'busy') {
      await store.parkDelivery(delivery);
      return DONE;
    }
    const result = outcome.kind === 'answered' ? String(outcome.status) : outcome.code;
    if (outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300) {
      deps.relay.relay(await store.recordDelivered(delivery, result, releases));
      return DONE;
    }
    const receiver = receiverAfter(outcome);
    const { outbox, disabled } = await store.recordFailedAttempt(delivery, {
      result,
      retryInSeconds: receiver === 'gone' ? null : retryAfter(delivery, deps.random()),
      receiver,
      releases: receiver === 'refuses' ? releases : 0,
    });
    deps.relay.relay(outbox);
    const { id: webhookId, ownerId } = delivery.endpoint;
    const fields = { ownerId, webhookId, deliveryId: delivery.id, result };
    if (disabled) deps.logger.warn(fields, "a store's webhook was disabled");
    else deps.logger.info(fields, 'a webhook failed');
    return DONE;
  }
}

const DONE: JobResult = { kind: 'done' };

/** Whether the outcome says something of the receiver, and not of this process. */
const isOfReceiver = (outcome: WebhookOutcome): boolean =>
  outcome.kind === 'answered' || (outcome.kind === 'unanswered' && outcome.code !== 'busy');

type Reachable = OwedDelivery & { readonly endpoint: NonNullable<OwedDelivery['endpoint']> };

const hasEndpoint = (delivery: OwedDelivery): delivery is Reachable => delivery.endpoint !== null;

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
