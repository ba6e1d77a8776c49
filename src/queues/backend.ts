import type { Redis } from 'ioredis';
import type { Pool } from 'pg';

/** BullMQ's backend: Redis, or Postgres where there is none. The pool's search path must be `bullmq`. */
export type QueueBackend =
  | { readonly kind: 'redis'; readonly connection: Redis; readonly prefix: string }
  | { readonly kind: 'postgres'; readonly pool: Pool };

/** @throws while Redis is away: the client would keep each command in memory until Redis is back */
export function refuseWhileAway(backend: QueueBackend): void {
  if (!isReached(backend)) throw Object.assign(new Error('the queue is not reachable'), { code: 'QUEUE_AWAY' });
}

export const isReached = (backend: QueueBackend): boolean =>
  backend.kind === 'postgres' || backend.connection.status === 'ready';
