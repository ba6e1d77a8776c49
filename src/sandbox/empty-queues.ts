import { createPostgresBackend, Queue, withBackend } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { QUEUE_QUERY_MS } from '../limits.ts';
import { migrateQueues } from '../queues/queues.ts';
import { within } from '../queues/within.ts';
import { QUEUES, type QueueName } from '../store/outbox-rows.ts';

/** A queue of either backend. */
type Emptied = Pick<Queue, 'drain' | 'clean' | 'on' | 'close'>;

const OnPostgres = withBackend(createPostgresBackend);

/**
 * Removes the jobs that wait in BullMQ, and those that failed for good. Jobs at work go on.
 *
 * @param redisUrl where the queues are; null for the Postgres of `databaseUrl`
 */
export async function emptyQueues(databaseUrl: string, redisUrl: string | null): Promise<void> {
  if (redisUrl) await emptyOnRedis(redisUrl);
  else await emptyOnPostgres(databaseUrl);
}

async function emptyOnRedis(url: string): Promise<void> {
  const connection = new Redis(url, { maxRetriesPerRequest: 1 });
  connection.on('error', () => undefined);
  try {
    await emptyAll((name) => new Queue(name, { connection, prefix: 'sameday' }));
  } finally {
    connection.disconnect();
  }
}

async function emptyOnPostgres(connectionString: string): Promise<void> {
  const settings = { options: '-c search_path=bullmq', application_name: 'sameday-cli' };
  const pool = new Pool({ connectionString, ...settings, max: 1, query_timeout: QUEUE_QUERY_MS });
  try {
    // No service may have run on this database yet.
    await migrateQueues(pool);
    await emptyAll((name) => new OnPostgres.Queue(name, { connection: pool as never }) as unknown as Emptied);
  } finally {
    await pool.end();
  }
}

async function emptyAll(open: (name: QueueName) => Emptied): Promise<void> {
  for (const name of QUEUES) {
    const queue = open(name);
    // The command that fails says so; unheard errors are printed.
    queue.on('error', () => undefined);
    await within(queue.drain(true));
    await within(queue.clean(0, 0, 'failed'));
    await queue.close();
  }
}
