import type { Config } from '../config.ts';
import type { OrderEvents } from '../dispatch/order-events.ts';
import type { PaymentWait } from '../dispatch/payment-wait.ts';
import type { Clock } from '../postgres/clock.ts';
import type { QueueBackend } from '../queues/backend.ts';
import type { JobPace } from '../queues/job-pace.ts';
import type { Relay } from '../queues/relay.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry.ts';
import type { NoteRequest } from '../transport/request-log.ts';
import type { Closers } from './closers.ts';
import type { Database } from './database.ts';
import type { Metrics } from './metrics.ts';

/** The parts that both roles are built from. */
export type ServiceParts = {
  readonly config: Config;
  readonly database: Database;
  readonly store: Store;
  readonly backend: QueueBackend;
  readonly relay: Relay;
  readonly events: OrderEvents;
  readonly paymentWait: PaymentWait;
  /** Lets the jobs of this process yield to its orders. */
  readonly pace: JobPace;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Writes the lines of requests; undefined where none are written. */
  readonly noteRequest: NoteRequest | undefined;
  /** Whether the start is over, with all that it makes. Before, the process is not ready. */
  readonly isStarted: () => boolean;
  /** The address in front of tracking links. It is asked for when the process listens, whose port it may hold. */
  readonly trackingUrl: () => string;
  readonly closers: Closers;
};
