import type { CliCommand } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { leaveJobs } from '../cli/owed-jobs.ts';
import { type Confirmed, confirm, known, requireId, withYes } from '../cli/parts.ts';
import { FIRST_ID } from '../domain/ids.ts';
import { MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER, OPERATOR_BATCH } from '../limits.ts';

/** `retailer charge-failed|cancel-waiting` */
export function addHeldOrders(retailer: CliCommand): void {
  withYes(retailer.command('charge-failed <retailer_id>'))
    .description('try all failed charges of a store again that it still owes, on the card that it has now')
    .runs(async (context, [id], confirmed: Confirmed) => {
      const retailerId = requireId(id);
      const { name } = known(await context.store.countWaitingOf(retailerId), 'store');
      confirm(confirmed, `This charges the card of “${name}” for each failed charge that it still owes.`);
      return { retailer_id: retailerId, charges_retried: await retryAll(context, retailerId) };
    });
  withYes(retailer.command('cancel-waiting <retailer_id>'))
    .description('cancel all orders of a store that wait for a driver, or for their time')
    .runs(async (context, [id], confirmed: Confirmed) => {
      const retailerId = requireId(id);
      const { name, waiting, later, at } = known(await context.store.countWaitingOf(retailerId), 'store');
      const counts = `${waiting} that wait for a driver, and ${later} that wait for their time`;
      if (waiting + later === 0) return { retailer_id: retailerId, orders_cancelled: 0 };
      confirm(confirmed, `This cancels the orders of “${name}”: ${counts}.`);
      return { retailer_id: retailerId, orders_cancelled: await cancelAll(context, retailerId, at) };
    });
}

/** Goes on from the last order, so that one whose charge fails again meanwhile is not tried a second time. */
async function retryAll(context: Context, retailerId: string): Promise<number> {
  for (let count = 0, after: string = FIRST_ID; ; ) {
    const which = { retailerId, after, limit: OPERATOR_BATCH };
    const retried = await context.store.retryCharges(which, MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER);
    count += retried.length;
    if (retried.length === 0) return count;
    await leaveJobs(context, retried);
    after = retried
      .map(({ id }) => id)
      .toSorted()
      .at(-1) as string;
  }
}

async function cancelAll(context: Context, retailerId: string, madeUntil: Date): Promise<number> {
  for (let count = 0; ; ) {
    const cancelled = await context.store.cancelWaiting(retailerId, madeUntil);
    count += cancelled.length;
    if (cancelled.length === 0) return count;
    await leaveJobs(context, cancelled);
  }
}
