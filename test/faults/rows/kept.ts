import { Redis } from 'ioredis';
import { later, type World } from '../world.ts';

const POLL_MS = 100;

/** Waits for the first sweep of the first worker, which takes a new Redis for one that lost everything. */
export async function untilKept({ redis }: World): Promise<void> {
  const connection = new Redis(redis?.url as string);
  while ((await connection.get('sameday:jobs-are')) !== 'kept') await later(POLL_MS);
  connection.disconnect();
}
