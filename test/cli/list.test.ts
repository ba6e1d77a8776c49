import { expect, onTestFinished, test, vi } from 'vitest';
import { CliCommand } from '../../src/cli/command.ts';
import { CommandError } from '../../src/cli/context.ts';
import type { Listed } from '../../src/cli/list.ts';
import { addDriverCommands } from '../../src/commands/driver.ts';
import { addOrderCommands } from '../../src/commands/order.ts';
import { addRetailerCommands } from '../../src/commands/retailer.ts';
import { newId } from '../../src/domain/ids.ts';
import { addWebhookCommands } from '../../src/events/webhook-command.ts';
import type { Page } from '../../src/store/pages.ts';
import { actOn } from '../harness/act.ts';

const ID = newId();
const PLACE = { rank: 2, micros: '1732300000000000', id: ID };
const LAST: Page = { rows: [{ n: 1 }], next: null, more: 0, isExact: true };
const LISTS = ['order list', 'driver list', 'webhook list', 'retailer list', 'retailer applications'];

/** Runs a list on a store whose lists all answer `page`; returns what it asked for and what it says. */
async function run(line: readonly string[], page: Page = LAST) {
  const asked: unknown[][] = [];
  const answer = async (...question: unknown[]) => {
    asked.push(question);
    return page;
  };
  const names = ['listOrders', 'listDrivers', 'listDeliveries', 'listRetailers', 'listApplications'];
  const lists = Object.fromEntries(names.map((name) => [name, answer]));
  const findNamed = async (table: string, text: string) => {
    if (text === 'nobody') return [];
    return Array.from({ length: text === 'everybody' ? 101 : 2 }, (_, n) => `${table} ${text} ${n}`);
  };
  const said: string[] = [];
  const shown: unknown[] = [];
  const act = actOn({ ...lists, findNamed }, (found, command) => {
    shown.push((found as Listed).shown);
    said.push(...(found as Listed).whatFollows(command));
  });
  const program = new CliCommand('sameday', act, () => async () => undefined);
  for (const add of [addRetailerCommands, addDriverCommands, addOrderCommands]) add(program);
  addWebhookCommands(program, act);
  await program.parseAsync(line, { from: 'user' });
  return { asked, said, shown };
}

test.each(LISTS)(
  '%s reads 200 rows from the start by default, or as many as asked for from a place on',
  async (list) => {
    const [first] = (await run(list.split(' '))).asked;
    expect(first?.[1]).toEqual({ limit: 200, after: null });
    const later = await run([...list.split(' '), '--limit', '7', '--after', `2.1732300000000000.${ID}`]);
    expect(later.asked[0]?.[1]).toEqual({ limit: 7, after: PLACE });
  },
);

test.each(LISTS)(
  '%s says how many rows follow, and the command for them with the options that were typed',
  async (list) => {
    const page: Page = { rows: [{ n: 1 }], next: PLACE, more: 5, isExact: true };
    const typed = ['--limit', '1', '--search', "O'Brien & Co"];
    const { said } = await run([...list.split(' '), ...typed, '--after', `0.1.${ID}`], page);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^5 more \w+: node \S+/);
    expect(said[0]).toContain(` ${list} --search 'O'\\''Brien & Co' --limit 1 --after 2.1732300000000000.${ID}`);
    expect((await run(list.split(' '))).said).toEqual([]);
  },
);

test('the command for the next page begins as whoever started the program says', async () => {
  vi.stubEnv('SAMEDAY_COMMAND', 'sameday');
  onTestFinished(() => void vi.unstubAllEnvs());
  const page: Page = { rows: [{ n: 1 }], next: PLACE, more: 5, isExact: true };
  expect((await run(['order', 'list'], page)).said[0]).toMatch(/^5 more orders: sameday order list --after /);
});

test('rows that were not counted to the end are said to be more than those', async () => {
  const page: Page = { rows: [{ n: 1 }], next: PLACE, more: 1000, isExact: false };
  expect((await run(['order', 'list'], page)).said[0]).toMatch(/^more than 1000 more orders: /);
});

test('the first page of stores has the open applications, and says where the others are', async () => {
  const page: Page = { rows: [{ n: 1 }], next: PLACE, more: 3, isExact: true };
  const { asked, said, shown } = await run(['retailer', 'list', '--limit', '1', '--search', 'x'], page);
  expect(shown).toEqual([{ retailers: page.rows, applications: page.rows }]);
  expect(asked[1]?.[0]).toMatchObject({ status: 'applied', text: 'x' });
  expect(said).toEqual([
    expect.stringMatching(/^3 more stores: .* retailer list --search x --limit 1 --after /),
    expect.stringMatching(/^3 more applications: .* retailer applications --search x --limit 1 --after /),
  ]);
  expect((await run(['retailer', 'list', '--status', 'suspended'])).shown).toEqual([{ retailers: LAST.rows }]);
});

test('filters reach the tables: status, times, text, stores and drivers', async () => {
  const options = ['--status', 'delivered', '--since', '2025-01-31', '--until', '2025-02-01T12:30:00.5+01:00'];
  const named = ['--store', 'corner', '--driver', ID, '--search', ' Lee '];
  const [[search] = []] = (await run(['order', 'list', ...options, ...named])).asked;
  expect(search).toEqual({
    status: 'delivered',
    since: new Date('2025-01-31T00:00:00Z'),
    until: new Date('2025-02-01T11:30:00.500Z'),
    text: 'Lee',
    retailerIds: ['retailers corner 0', 'retailers corner 1'],
    driverIds: [`drivers ${ID} 0`, `drivers ${ID} 1`],
  });
  const [[deliveries] = []] = (await run(['webhook', 'list', '--retailer', ID, '--order', ID])).asked;
  expect(deliveries).toMatchObject({ retailerIds: [ID], orderId: ID });
  const before = Date.now();
  const [[late] = []] = (await run(['order', 'list', '--since', '2h'])).asked;
  const { since } = late as { since: Date };
  expect(since.getTime()).toBeGreaterThanOrEqual(before - 7_200_000);
  expect(since.getTime()).toBeLessThanOrEqual(Date.now() - 7_200_000);
});

const TIME = 'takes a time like 2025-01-31, 2025-01-31T17:05:00Z, or 2h for two hours ago.';
const ZONE = 'needs its zone: Z for UTC, or an offset, like 2026-11-23T22:00:00Z or 2026-11-23T14:00:00-08:00.';

test.each([
  ['order list --limit 0', '--limit takes a whole number from 1 to 1000.'],
  ['order list --limit 1001', '--limit takes a whole number from 1 to 1000.'],
  ['driver list --limit many', '--limit takes a whole number from 1 to 1000.'],
  ['order list --after nonsense', '--after takes what the page before printed.'],
  [`order list --after 0.1.${'x'.repeat(36)}`, '--after takes what the page before printed.'],
  ['driver list --status busy', '--status is one of silent, carrying, on_duty, off_duty, inactive.'],
  ['retailer list --status gone', '--status is one of active, suspended.'],
  ['retailer applications --status open', '--status is one of applied, approved, rejected.'],
  ['order list --since yesterday', `--since ${TIME}`],
  ['order list --since 2025-02-30T25:00:00Z', `--since ${TIME}`],
  ['order list --since 2025-02-30', `--since ${TIME}`],
  ['order list --since 2025-02-30T12:00:00Z', `--since ${TIME}`],
  ['order list --since 2025-02-28T00:00:00', `--since ${ZONE}`],
  ['webhook list --until 2025-02-28T00:00', `--until ${ZONE}`],
  ['order list --until 99999999d', `--until ${TIME}`],
  ['order list --until 1969-12-31', `--until ${TIME}`],
  ['webhook list --since 2025-02-01 --until 2025-01-01', '--since must be before --until.'],
  ['order list --store nobody', '--store: no store has this id, or this in the name.'],
  ['order list --driver everybody', '--driver: more than 100 drivers have this in the name.'],
  ['webhook list --order 7', 'That is not an id: 7'],
  [`webhook list --store a --retailer ${ID}`, 'Give --retailer or --store.'],
])('%s is refused by the option that is wrong', async (line, sentence) => {
  await expect(run(line.split(' '))).rejects.toEqual(new CommandError(sentence));
});

test('an empty text, or one with controls, is refused', async () => {
  await expect(run(['order', 'list', '--search', ' '])).rejects.toThrow('--search takes 1 to 400 characters.');
  await expect(run(['order', 'list', '--search', 'a\u001bb'])).rejects.toThrow('--search takes one line');
});
