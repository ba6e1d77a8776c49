import { Command } from 'commander';
import { expect, test } from 'vitest';
import { CommandError } from '../../src/cli/context.ts';
import { LIST_LIMIT, Listed, MAX_LIST_LIMIT } from '../../src/cli/list.ts';
import { newId } from '../../src/domain/ids.ts';
import { addPayoutCommands } from '../../src/payments/payout-command.ts';
import { actOn } from '../harness/act.ts';

const ORDER = newId();

/** The commands on a table with one payout in a status; null for none. */
function commands(status: string | null = 'held') {
  const asked: unknown[] = [];
  const store = {
    async listPayouts(...args: unknown[]) {
      asked.push(args);
      return { rows: [], next: null, more: 0, isExact: true };
    },
    findNamed: async (_table: string, text: string) => (text === 'nobody' ? [] : [text]),
    async settlePayout(...args: [string, string, string | null]) {
      asked.push(args);
      return status && { settled: status === args[1], status, amountCents: 550 };
    },
  };
  let printed: unknown;
  const act = actOn(store, (found) => {
    printed = found;
  });
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addPayoutCommands(program, act);
  for (const command of program.commands.flatMap((each) => each.commands)) command.exitOverride();
  const run = async (...args: string[]) => {
    await program.parseAsync(['payout', ...args], { from: 'user' });
    return printed;
  };
  return { run, asked };
}

test('the list is of what is held, or of what the options say', async () => {
  const { run, asked } = commands();
  expect(await run('list')).toEqual(Listed.rows('payouts', { rows: [], next: null, more: 0, isExact: true }));
  const [driverId, retailerId] = [newId(), newId()];
  const named = ['--driver', driverId, '--store', retailerId, '--search', 'far', '--since', '2026-01-01'];
  await run('list', '--status', 'owed', ...named, '--after', `0.0.${ORDER}`, '--limit', '7');
  const any = { since: null, until: null, text: null };
  const since = new Date('2026-01-01');
  expect(asked).toEqual([
    [
      { ...any, status: 'held', driverIds: null, retailerIds: null },
      { limit: LIST_LIMIT, after: null },
    ],
    [
      { ...any, status: 'owed', driverIds: [driverId], retailerIds: [retailerId], text: 'far', since },
      { limit: 7, after: { rank: 0, micros: '0', id: ORDER } },
    ],
  ]);
});

test('a list of no status, of nobody or of too many is refused', async () => {
  const { run } = commands();
  for (const [option, value] of [
    ['--status', 'none'],
    ['--driver', 'nobody'],
    ['--limit', String(MAX_LIST_LIMIT + 1)],
    ['--after', 'there'],
  ] as const) {
    await expect(run('list', option, value)).rejects.toBeInstanceOf(CommandError);
  }
});

test('a decision is made once, with a note, and a void needs one', async () => {
  const { run, asked } = commands('void');
  expect(await run('void', ORDER, '--note', ' no parcel ', '--yes')).toEqual({
    order_id: ORDER,
    payout_status: 'void',
    amount_cents: 550,
  });
  expect(asked).toEqual([[ORDER, 'void', 'no parcel']]);
  await expect(commands().run('void', ORDER)).rejects.toMatchObject({ code: 'commander.missingMandatoryOptionValue' });
});

test('a payout that is elsewhere is named, and so is an unknown one', async () => {
  await expect(commands('held').run('pay', ORDER, '--yes')).rejects.toEqual(
    new CommandError('That payout is held: it is not owed.'),
  );
  await expect(commands('paid').run('release', ORDER)).rejects.toEqual(
    new CommandError('That payout is paid: it is not held.'),
  );
  await expect(commands(null).run('pay', ORDER, '--yes')).rejects.toEqual(new CommandError('There is no such payout.'));
});
