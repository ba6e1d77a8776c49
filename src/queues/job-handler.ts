import type { QueueName } from '../store/outbox-rows.ts';

/** Job data holds ids only; a handler reads the truth from the rows. */
export type JobData = {
  readonly outboxId: number;
  readonly orderId: string;
  /** Times its outbox row had been relayed again. */
  readonly relays?: number;
  /** Whether a reply waited for the job when it was handed over, maybe at another process. */
  readonly isAwaited?: boolean;
};

/**
 * The result of a job. `retry` costs an attempt, `wait` does not. `rate_limited` makes the whole queue wait,
 * because the vendor asked for it.
 */
export type JobResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly reason: string }
  | { readonly kind: 'wait'; readonly forMs: number }
  | { readonly kind: 'rate_limited'; readonly forMs: number };

/** Does one job. Must be safe to run twice. */
export type JobHandler = (data: JobData) => Promise<JobResult>;

/**
 * The handler of each queue. Each file of a job adds its own by declaration merging, so that an editor
 * leads from a queue to its handler although this level imports nothing from there.
 */
export interface JobHandlers extends Readonly<Record<QueueName, JobHandler>> {}
