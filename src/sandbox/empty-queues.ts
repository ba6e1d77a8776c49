import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { within } from '../queues/within.ts';
import { QUEUES } from '../store/outbox-rows.ts';

/** Removes the jobs that wait in Redis, and those that failed for good. Jobs at work go on. */
export async function emptyRedisQueues(url: string): Promise<void> {
  const connection = new Redis(url, { maxRetriesPerRequest: 1 });
  // The command that fails says so; unheard errors are printed.
  connection.on('error', () => undefined);
  try {
    for (const name of QUEUES) {
      const queue = new Queue(name, { connection, prefix: 'sameday' });
      queue.on('error', () => undefined);
      await within(queue.drain(true));
      await within(queue.clean(0, 0, 'failed'));
      await queue.close();
    }
  } finally {
    connection.disconnect();
  }
}
