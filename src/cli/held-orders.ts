import type { Command } from 'commander';
import { FIRST_ID } from '../domain/ids.ts';
import { MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER, OPERATOR_BATCH } from '../limits.ts';
import type { Store } from '../store/store.ts';
import { CommandError } from './context.ts';
import { leaveJobs } from './owed-jobs.ts';
import { type Act, known, requireId } from './parts.ts';

/** `retailer charge-failed|cancel-waiting` */
export function addHeldOrders(retailer: Command, act: Act): void {
  retailer
    .command('charge-failed <retailer_id>')
    .description('try all failed charges of a store again that it still owes, on the card that it has now')
    .action(
      act(async ({ store }, [id]) => {
        const retailerId = requireId(id);
        known(await store.countWaitingOf(retailerId), 'store');
        return { retailer_id: retailerId, charges_retried: await retryAll(store, retailerId) };
      }),
    );
  retailer
    .command('cancel-waiting <retailer_id>')
    .description('cancel all orders of a store that wait for a driver')
    .option('--yes', 'needed; without it the command says how many there are')
    .action(
      act(async ({ store }, [id], { yes }: { yes?: boolean }) => {
        const retailerId = requireId(id);
        const { name, waiting } = known(await store.countWaitingOf(retailerId), 'store');
        if (waiting > 0 && !yes) {
          throw new CommandError(`${waiting} orders of “${name}” wait. Add --yes to cancel them all.`);
        }
        return { retailer_id: retailerId, orders_cancelled: await cancelAll(store, retailerId) };
      }),
    );
}

/** Goes on from the last order, so that one whose charge fails again meanwhile is not tried a second time. */
async function retryAll(store: Store, retailerId: string): Promise<number> {
  for (let count = 0, after: string = FIRST_ID; ; ) {
    const which = { retailerId, after, limit: OPERATOR_BATCH };
    const retried = await store.retryCharges(which, MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER);
    count += retried.length;
    if (retried.length === 0) return count;
    await leaveJobs(store, retried);
    after = retried
      .map(({ id }) => id)
      .toSorted()
      .at(-1) as string;
  }
}

async function cancelAll(store: Store, retailerId: string): Promise<number> {
  for (let count = 0; ; ) {
    const cancelled = await store.cancelWaiting(retailerId);
    count += cancelled.length;
    if (cancelled.length === 0) return count;
    await leaveJobs(store, cancelled);
  }
}
