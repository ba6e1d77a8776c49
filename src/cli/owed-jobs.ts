import type { ChangedOrder } from '../store/orders/changes.ts';
import type { Context } from './context.ts';

/**
 * Has a worker do at once what changes of a command owe, such as a refund or a webhook. The changes are made,
 * whatever becomes of that.
 */
export async function leaveJobs(
  { store, output }: Pick<Context, 'store' | 'output'>,
  changes: readonly (ChangedOrder | null)[],
): Promise<void> {
  const jobs = changes.flatMap((order) => order?.outbox.map(({ id }) => id) ?? []);
  await store
    .leaveToSweepers(jobs)
    .catch(() => output.tell('It is done; what it owes to stores and vendors follows within a minute.'));
}
