import { QUEUE_DEADLINE_MS } from '../limits.ts';

/** BullMQ's and Redis's calls hang for as long as Redis is away, so the wait has an end of its own. */
export async function within<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(Object.assign(new Error('the queue did not answer'), { code: 'QUEUE_LATE' })),
      QUEUE_DEADLINE_MS,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
