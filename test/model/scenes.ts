import type { Random } from '../harness/world.ts';
import type { Command, OrderDeed } from './commands.ts';
import { GIVEN_MS } from './liveness.ts';
import { DRIVERS } from './town.ts';

/** Some commands in a row, as single ones seldom come in this order. */
export type Scene = (random: Random, crew: readonly number[]) => Command[];

type Rest<Each> = Each extends unknown ? Omit<Each, 'process' | 'waitMs'> : never;

const helpers = (random: Random) => {
  const below = (end: number) => Math.floor(random() * end);
  const any = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const at = (deed: Rest<Command>, waitMs: number): Command => ({ ...deed, process: below(2), waitMs }) as Command;
  const order = (deed: Partial<OrderDeed> = {}): OrderDeed => ({
    kind: 'order',
    store: 0,
    tier: 'standard',
    size: 'small',
    door: below(2),
    readyInMinutes: 0,
    windowInMinutes: null,
    ...deed,
  });
  const comes = (driver: number, spot = below(4)): Command[] => [
    at({ kind: 'go', driver, spot, atOnce: true }, 0),
    at({ kind: 'duty', driver, onDuty: true, forMinutes: null }, any([400, 9_000])),
  ];
  return { any, at, order, comes };
};

/** An order is planned and cancelled; while nothing waits its driver goes away or falls silent; another comes. */
export const quietSpell: Scene = (random, crew) => {
  const { any, at, order, comes } = helpers(random);
  const driver = any(crew);
  const leaves = any([true, false])
    ? at({ kind: 'go', driver, spot: any([6, 7]), atOnce: true }, any([31_000, 95_000]))
    : at({ kind: 'habit', driver, habit: 'silent' }, any([95_000, 120_000]));
  return [
    ...[0, 0, 0].map((which) => at({ kind: 'cancel', order: which }, 50)),
    at({ kind: 'habit', driver, habit: 'works' }, 0),
    ...comes(driver),
    at(order({ readyInMinutes: any([8, 12]) }), any([4_000, 20_000])),
    at({ kind: 'cancel', order: 0 }, any([400, 9_000])),
    leaves,
    at(order(), any([400, 9_000])),
  ];
};

/** A driver fetches an order and stands still; another order waits; somebody else comes on duty near. */
export const stall: Scene = (random, crew) => {
  const { any, at, order, comes } = helpers(random);
  const driver = any(crew);
  const other = (driver + 1 + Math.floor(random() * (DRIVERS - 1))) % DRIVERS;
  const off = Array.from({ length: DRIVERS }, (_, each) => each).filter((each) => each !== driver);
  return [
    ...off.map((each) => at({ kind: 'duty', driver: each, onDuty: false, forMinutes: null }, 50)),
    at({ kind: 'capacity', driver, capacity: 1 }, 50),
    ...comes(driver, any([0, 1])),
    at({ kind: 'habit', driver, habit: 'stalls' }, 0),
    at(order({ door: 0 }), 20_000),
    at({ kind: 'step', driver, step: 'next' }, any([400, 9_000])),
    at(order(), any([4_000, 20_000])),
    // Not so near that they are there first in any case.
    ...comes(other, any([2, 3, 3, 3])),
    at({ kind: 'habit', driver: other, habit: 'works' }, GIVEN_MS + 60_000),
  ];
};

/** A driver goes off duty, and nobody hears whether that was committed. */
export const unansweredDuty: Scene = (random, crew) => {
  const { any, at, comes } = helpers(random);
  const driver = any(crew);
  const leaves = at({ kind: 'duty', driver, onDuty: false, forMinutes: null }, any([400, 9_000]));
  return [...comes(driver), { ...leaves, mishap: any(['lost', 'late'] as const) }, at({ kind: 'quiet' }, 0)];
};
