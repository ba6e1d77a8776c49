import { expect, test } from 'vitest';
import { CliCommand } from '../../src/cli/command.ts';
import { CommandError } from '../../src/cli/context.ts';
import { addDriverCommands } from '../../src/commands/driver.ts';
import { addTierCommands } from '../../src/commands/order.ts';
import type { Tier } from '../../src/domain/tier.ts';
import type { NewDriver } from '../../src/store/drivers/drivers.ts';
import { actOn } from '../harness/act.ts';

const DRIVER = ['driver', 'create', '--name', 'Ana Lopez', '--phone', '+14155550100'];

/** The commands on a table with a tier that the contract does not name. */
function commands() {
  const drivers: NewDriver[] = [];
  const changes: unknown[] = [];
  const tiers = new Map(['standard', 'priority', 'scheduled', 'express'].map((id) => [id, { id } as Tier]));
  const store = {
    loadTiers: async () => tiers,
    findDriverByPhone: async () => null,
    createDriver: async (driver: NewDriver) => void drivers.push(driver),
    setTier: async (...change: unknown[]) => void changes.push(change),
  };
  const program = new CliCommand(undefined, actOn(store), () => async () => undefined);
  addDriverCommands(program);
  addTierCommands(program);
  const run = (...args: string[]) => program.parseAsync(args, { from: 'user' });
  return { run, drivers, changes };
}

test('a driver is qualified for every tier of the table by default, or for some of them', async () => {
  const { run, drivers } = commands();
  await run(...DRIVER);
  expect(drivers[0]?.tierIds).toEqual(['standard', 'priority', 'scheduled', 'express']);
  await run(...DRIVER, '--tiers', 'express, standard');
  expect(drivers[1]?.tierIds).toEqual(['express', 'standard']);
});

test('a tier that the table does not have is refused, and those that it has are named', async () => {
  const { run, drivers, changes } = commands();
  const named = (names: string) => new CommandError(names);
  await expect(run(...DRIVER, '--tiers', 'overnight')).rejects.toEqual(
    named('--tiers takes some of standard,priority,scheduled,express.'),
  );
  await expect(run('tier', 'set', 'overnight', '--weight', '2')).rejects.toEqual(
    named('The tier is one of standard, priority, scheduled, express.'),
  );
  expect([drivers, changes]).toEqual([[], []]);
});

test('any tier of the table is changed', async () => {
  const { run, changes } = commands();
  await run('tier', 'set', 'express', '--weight', '2');
  await run('tier', 'set', 'express', '--max-distance-meters', '9000');
  expect(changes).toEqual([
    ['express', { weight: 2 }],
    ['express', { maxDistanceMeters: 9_000 }],
  ]);
});

test('a tier says who gives its waiting orders to drivers, and nothing else', async () => {
  const { run, changes } = commands();
  await run('tier', 'set', 'express', '--dispatch-mode', 'nearest');
  await run('tier', 'set', 'express', '--dispatch-mode', 'planned', '--weight', '2');
  await expect(run('tier', 'set', 'express', '--dispatch-mode', 'fastest')).rejects.toEqual(
    new CommandError('--dispatch-mode is one of planned, nearest.'),
  );
  expect(changes).toEqual([
    ['express', { dispatchMode: 'nearest' }],
    ['express', { dispatchMode: 'planned', weight: 2 }],
  ]);
});
