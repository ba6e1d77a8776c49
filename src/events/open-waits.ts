import { listenForNotices } from '../bus/notices.ts';
import type { ServiceParts } from '../runtime/parts.ts';
import { EventWaits } from './event-waits.ts';

/** Interval at which a process with such readers looks for events whose notice was lost. */
const EVENT_REREAD_MS = 5_000;

/**
 * Opens the waits for events of this process. The writer's notices wake them, its own too. A look at the last
 * number makes up for a notice that was lost.
 */
export async function openEventWaits({
  database,
  store,
  logger,
  closers,
}: Pick<ServiceParts, 'logger' | 'closers'> & {
  readonly database: Pick<ServiceParts['database'], 'sql' | 'processId'>;
  readonly store: Pick<ServiceParts['store'], 'readLastEvent'>;
}): Promise<EventWaits> {
  const waits = new EventWaits();
  let last = '0';
  let wasHeard = false;
  const stop = await listenForNotices(
    database.sql,
    database.processId,
    {
      changed({ kind, ids }) {
        if (kind === 'everything') waits.wakeAll();
        if (kind === 'organization') waits.endOf(ids);
        if (kind !== 'events') return;
        wasHeard = true;
        waits.wake(ids);
      },
      listening: () => waits.wakeAll(),
    },
    logger,
  );
  closers.add("events' notices", stop);

  async function look(): Promise<void> {
    if (waits.count === 0) return;
    const number = await store.readLastEvent();
    if (number !== last && !wasHeard) waits.wakeAll();
    last = number;
    wasHeard = false;
  }
  // While the database is away there is nothing to find.
  const timer = setInterval(() => void look().catch(() => undefined), EVENT_REREAD_MS);
  closers.add('waits for events', () => {
    clearInterval(timer);
    waits.close();
  });
  return waits;
}
