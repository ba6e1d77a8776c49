import type { DispatchMode } from '../../src/domain/plan.ts';
import type { Size, Vehicle } from '../../src/domain/vehicle.ts';
import { type Random, seeded, shuffled } from '../harness/world.ts';
import { quietSpell, type Scene, stall, unansweredDuty } from './scenes.ts';
import { FAULT_KINDS, FAULT_TARGETS, type FaultKind, type FaultTarget } from './statements.ts';
import { DOORS, DRIVERS, SPOTS, STORES } from './town.ts';

/**
 * What drivers do by themselves. `works`: what their list says. `stands`: they report, and take no step. `stalls`:
 * they fetch what they have to, and stand then.
 */
export const HABITS = ['works', 'stands', 'stalls', 'silent'] as const;
export type Habit = (typeof HABITS)[number];

type Deed =
  | { readonly kind: 'duty'; readonly driver: number; readonly onDuty: boolean; readonly forMinutes: number | null }
  | { readonly kind: 'habit'; readonly driver: number; readonly habit: Habit }
  /** The driver drives to a spot, or is there at once. */
  | { readonly kind: 'go'; readonly driver: number; readonly spot: number; readonly atOnce: boolean }
  /** The driver's phone reports to another process from now on. */
  | { readonly kind: 'phone'; readonly driver: number }
  | { readonly kind: 'step'; readonly driver: number; readonly step: Step }
  | { readonly kind: 'vehicle'; readonly driver: number; readonly vehicle: Vehicle }
  | { readonly kind: 'capacity'; readonly driver: number; readonly capacity: number }
  | { readonly kind: 'shift'; readonly driver: number; readonly minutes: number | null }
  | OrderDeed
  | { readonly kind: 'cancel'; readonly order: number }
  | { readonly kind: 'notes'; readonly order: number }
  /** A job finds the door: so many meters from the middle of the ZIP. */
  | { readonly kind: 'door'; readonly order: number; readonly north: number; readonly east: number }
  | { readonly kind: 'hold'; readonly store: number; readonly isHeld: boolean }
  | { readonly kind: 'mode'; readonly tier: string; readonly mode: DispatchMode }
  | { readonly kind: 'line'; readonly trouble: 'late' | 'double' | 'cut' | 'mend'; readonly ms: number }
  /** Positions of one process reach the other or do not. */
  | { readonly kind: 'bus'; readonly isCut: boolean }
  | {
      readonly kind: 'fault';
      readonly target: FaultTarget;
      readonly fault: FaultKind;
      readonly ms: number;
      readonly times: number;
    }
  /** Replies to all renewals of the lease are lost for a while, or the renewals of one process fail. */
  | { readonly kind: 'lease'; readonly fault: 'lost' | 'failed'; readonly ms: number }
  /** All troubles end; then, after a while, memory has to be as the tables are. */
  | { readonly kind: 'quiet' };

export type Step = 'next' | 'release' | 'undeliverable';

export type OrderDeed = {
  readonly kind: 'order';
  readonly store: number;
  readonly tier: string;
  readonly size: Size;
  readonly door: number;
  readonly readyInMinutes: number;
  /** A window that opens then and is two hours long; null for none. */
  readonly windowInMinutes: number | null;
};

/** What happens, at which process, whether its commit meets a fault, and how long nothing else does. */
export type Command = Deed & { readonly process: number; readonly mishap?: FaultKind; readonly waitMs: number };

/** So much time passes after most commands, and more after a few. */
const WAITS = [0, 0, 50, 400, 1_500, 4_000, 9_000, 20_000, 31_000, 95_000];

/** A random day: some drivers come on duty first. With few of them more depends on each. */
export function makeCommands(seed: number, count: number): Command[] {
  const random = seeded(seed);
  const below = (end: number) => Math.floor(random() * end);
  const any = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const at = (deed: Deed, waitMs = any(WAITS)): Command => ({ ...deed, process: below(2), waitMs });
  const { kinds, mishaps, most, later, scene } = DAYS[seed % DAYS.length] as DayKind;
  const everybody = shuffled(
    Array.from({ length: DRIVERS }, (_, driver) => driver),
    random,
  );
  const crew = everybody.slice(0, 1 + below(most));
  const opening = crew.flatMap((driver) => [
    at({ kind: 'go', driver, spot: below(5), atOnce: true }, 0),
    ...(random() < 0.85 ? [at({ kind: 'duty', driver, onDuty: true, forMinutes: null }, 50)] : []),
    at({ kind: 'habit', driver, habit: any(['works', 'works', 'stalls', 'stands']) }, 0),
  ]);
  const modes = random() < 0.15 ? [at({ kind: 'mode', tier: 'standard', mode: 'nearest' }, 0)] : [];
  const rest = Array.from({ length: count }, () => {
    const command = at(makeDeed(any(kinds), { crew, later }, random));
    return command.kind in TARGETS && random() < mishaps ? { ...command, mishap: any(MISHAPS) } : command;
  });
  const scenes = scene ? [scene(random, crew), scene(random, crew)] : [];
  return [...modes, ...opening, ...(scenes[0] ?? []), ...rest, ...(scenes[1] ?? [])];
}

type Kind = Deed['kind'];

/** How often each kind comes, as one can read it. */
const often = (shares: Partial<Record<Kind, number>>): Kind[] =>
  Object.entries(shares).flatMap(([kind, share]) => Array.from({ length: share }, () => kind as Kind));

/** The statement that a mishap of a command befalls. */
export const TARGETS: Readonly<Partial<Record<Kind, FaultTarget>>> = {
  order: 'insert',
  duty: 'duty',
  step: 'step',
  cancel: 'cancel',
  door: 'door',
};

type DayKind = {
  readonly kinds: readonly Kind[];
  /** The share of commands that meet a fault. */
  readonly mishaps: number;
  /** Most drivers of the day. */
  readonly most: number;
  /** The share of orders that are ready later. */
  readonly later: number;
  /** What happens first, and at the end of the day. */
  readonly scene?: Scene;
};
const ORDINARY = { order: 10, go: 4, duty: 4, habit: 5, step: 4, cancel: 2, door: 2, quiet: 1 };
const CHANGES = { vehicle: 2, capacity: 2, shift: 2, notes: 1, hold: 2, phone: 1 };
const TROUBLES = { fault: 2, line: 2, bus: 1, lease: 1, mode: 1 };
const MISHAPS: readonly FaultKind[] = ['lost', 'lost', 'late', 'failed', 'slow'];
/** Days of their own kind, one after another, as what goes wrong needs several of the same. */
const DAYS: readonly DayKind[] = [
  { kinds: often({ ...ORDINARY, ...CHANGES }), mishaps: 0, most: DRIVERS, later: 0.4 },
  {
    kinds: often({ ...ORDINARY, duty: 6, cancel: 4, quiet: 2, fault: 3 }),
    mishaps: 0.4,
    most: DRIVERS,
    later: 0.4,
    scene: unansweredDuty,
  },
  { kinds: often({ ...ORDINARY, line: 5, bus: 1, vehicle: 1 }), mishaps: 0.05, most: DRIVERS, later: 0.4 },
  { kinds: often({ order: 8, lease: 6, cancel: 5, duty: 1, go: 1, quiet: 2 }), mishaps: 0, most: 3, later: 0.9 },
  {
    kinds: often({ order: 5, go: 4, duty: 1, habit: 2, cancel: 5 }),
    mishaps: 0,
    most: 1,
    later: 0.5,
    scene: quietSpell,
  },
  {
    kinds: often({ order: 6, vehicle: 5, go: 1, duty: 1, habit: 2, cancel: 1 }),
    mishaps: 0,
    most: DRIVERS,
    later: 0.7,
  },
  { kinds: often({ order: 5, duty: 6, go: 2, habit: 3, step: 1 }), mishaps: 0, most: 2, later: 0.1, scene: stall },
  { kinds: often({ ...ORDINARY, ...CHANGES, ...TROUBLES }), mishaps: 0.15, most: DRIVERS, later: 0.4 },
];

type OfDay = { readonly crew: readonly number[]; readonly later: number };

function makeDeed(kind: Kind, { crew, later }: OfDay, random: Random): Deed {
  const below = (end: number) => Math.floor(random() * end);
  const any = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const driver = any(crew);
  const order = any([0, 0, 0, 1, 2]);
  switch (kind) {
    case 'duty':
      return { kind, driver, onDuty: random() < 0.65, forMinutes: random() < 0.25 ? any([2, 8, 25, 60]) : null };
    case 'habit':
      return {
        kind,
        driver,
        habit: any(['works', 'works', 'works', 'stands', 'stalls', 'stalls', 'silent', 'silent']),
      };
    case 'go':
      return { kind, driver, spot: below(SPOTS.length), atOnce: random() < 0.6 };
    case 'phone':
      return { kind, driver };
    case 'step':
      return { kind, driver, step: any(['next', 'next', 'release', 'undeliverable']) };
    case 'vehicle':
      return { kind, driver, vehicle: any(['car', 'van', 'van', 'bike']) };
    case 'capacity':
      return { kind, driver, capacity: 1 + below(3) };
    case 'shift':
      return { kind, driver, minutes: any([null, 1, 10, 40]) };
    case 'order':
      return makeOrder(later, random);
    case 'cancel':
    case 'notes':
      return { kind, order };
    case 'door':
      return { kind, order, north: any([-2_500, -600, 300, 1_800]), east: any([-2_000, -200, 700, 2_200]) };
    case 'hold':
      return { kind, store: below(STORES), isHeld: random() < 0.5 };
    case 'mode':
      return { kind, tier: any(['standard', 'standard', 'priority', 'scheduled']), mode: any(['planned', 'nearest']) };
    case 'line':
      return { kind, trouble: any(['late', 'double', 'cut', 'mend', 'mend']), ms: any([300, 2_000, 12_000]) };
    case 'bus':
      return { kind, isCut: random() < 0.5 };
    case 'fault':
      return {
        kind,
        target: any(Object.keys(FAULT_TARGETS) as FaultTarget[]),
        fault: any(FAULT_KINDS),
        ms: any([100, 900, 4_000, 15_000]),
        times: any([1, 1, 2, 4]),
      };
    case 'lease':
      return { kind, fault: any(['lost', 'lost', 'failed']), ms: any([2_700, 9_000, 25_000]) };
    case 'quiet':
      return { kind };
  }
}

function makeOrder(later: number, random: Random): OrderDeed {
  const any = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  return {
    kind: 'order',
    store: Math.floor(random() * STORES),
    tier: any(['standard', 'standard', 'standard', 'priority', 'scheduled']),
    size: any(['small', 'small', 'medium', 'medium', 'large', 'large']),
    door: Math.floor(random() * DOORS),
    readyInMinutes: random() < later ? any([7, 8, 12, 30]) : 0,
    windowInMinutes: random() < 0.12 ? any([20, 50]) : null,
  };
}
