import { expect, test } from 'vitest';
import { CliCommand } from '../../src/cli/command.ts';
import { addHeldOrders } from '../../src/commands/held-orders.ts';
import { newId } from '../../src/domain/ids.ts';
import { actOn } from '../harness/act.ts';

const AT = new Date('2026-01-01T00:00:00Z');

/** Runs `cancel-waiting` for a store with so many waiting orders; what was asked, and printed. */
async function cancelWaiting(waiting: number) {
  const asked: Date[] = [];
  const store = {
    countWaitingOf: async () => ({ name: 'Corner Market', waiting, later: 0, at: AT }),
    cancelWaiting: async (_id: string, madeUntil: Date) => {
      asked.push(madeUntil);
      return asked.length > waiting ? [] : [{ id: newId(), outbox: [] }];
    },
    leaveToSweepers: async () => undefined,
  };
  let printed: unknown;
  const act = actOn(store, (found) => {
    printed = found;
  });
  const program = new CliCommand('sameday', act, () => async () => undefined);
  addHeldOrders(program);
  await program.parseAsync(['cancel-waiting', newId(), '--yes'], { from: 'user' });
  return { asked, printed };
}

test('the orders that were counted are cancelled, and where none was, none is', async () => {
  const two = await cancelWaiting(2);
  expect(two.printed).toMatchObject({ orders_cancelled: 2 });
  expect(two.asked).toEqual([AT, AT, AT]);
  const none = await cancelWaiting(0);
  expect(none.printed).toMatchObject({ orders_cancelled: 0 });
  expect(none.asked).toEqual([]);
});
