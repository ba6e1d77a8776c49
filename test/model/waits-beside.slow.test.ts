import { describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { Matcher } from '../../src/matcher/matcher.ts';
import type { Command } from './commands.ts';
import { useModelDatabase } from './database.ts';
import { Day } from './day.ts';
import { comes, isOrdered } from './written.ts';

const database = useModelDatabase();

const stays: Command = { kind: 'quiet', process: 0, waitMs: 20 * 60_000 };
/** Driver 0 stands at a store, with one order to fetch and room for no other. */
const standsThere: readonly Command[] = [
  { kind: 'capacity', driver: 0, capacity: 1, process: 0, waitMs: 0 },
  ...comes(0, 0),
  { kind: 'habit', driver: 0, habit: 'stands', process: 0, waitMs: 0 },
  isOrdered(9_000),
];
const getsRoom: Command = { kind: 'capacity', driver: 0, capacity: 2, process: 0, waitMs: 0 };

type WaitsBeside = { readonly day: readonly Command[]; readonly isThey: (driver: FleetDriver) => boolean };
/** By the driver who could take an order that waits: how it comes to that, and by what one knows them. */
const WAITS_BESIDE: Readonly<Record<string, WaitsBeside>> = {
  'who goes home later': {
    day: [isOrdered(5_000), ...comes(0, 0, 0, 60), stays],
    isThey: ({ onDutyUntilMs }) => onDutyUntilMs != null,
  },
  'who is far, but in reach': {
    day: [isOrdered(5_000), ...comes(0, 4, 0), stays, stays],
    isThey: ({ carried }) => carried.length === 0,
  },
  'who stands at its store, with room': {
    day: [...standsThere, isOrdered(9_000), getsRoom, stays],
    isThey: ({ carried }) => carried.length > 0,
  },
  'who has stood at its store for long, with room': {
    day: [...standsThere, isOrdered(10 * 60_000), getsRoom, stays],
    isThey: ({ carried }) => carried.length > 0,
  },
};

describe.each(Object.entries(WAITS_BESIDE))('an order that waits beside a driver %s', (_, { day, isThey }) => {
  it('is given, and found where the planner passes over them', async () => {
    expect(await new Day({ database: database(), seed: 1 }).run(day)).toBeNull();
    const matcher = (each: Matcher) => {
      const mayCarry = each.planned.mayCarry.bind(each.planned);
      each.planned.mayCarry = (driverId, ...args) => {
        const driver = each.driver(driverId);
        return !(driver && isThey(driver)) && mayCarry(driverId, ...args);
      };
    };
    expect(await new Day({ database: database(), seed: 1, plant: { matcher } }).run(day)).toMatchObject({
      kind: 'not_given',
    });
  });
});
