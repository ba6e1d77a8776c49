import type { ChangedOrder } from '../store/changes.ts';
import type { Store } from '../store/store.ts';
import { tell } from './output.ts';

/**
 * Has a worker do at once what changes of a command owe, such as a refund or a webhook. The changes are made,
 * whatever becomes of that.
 */
export async function leaveJobs(
  store: Pick<Store, 'leaveToSweepers'>,
  changes: readonly (ChangedOrder | null)[],
): Promise<void> {
  const jobs = changes.flatMap((order) => order?.outbox.map(({ id }) => id) ?? []);
  await store
    .leaveToSweepers(jobs)
    .catch(() => tell('It is done; what it owes to stores and vendors follows within a minute.'));
}
