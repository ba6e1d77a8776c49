import fc from 'fast-check';
import { TIER_IDS, type TierId } from '../../../src/domain/tier.ts';

/** A driver's step with the assigned order. */
export const STEPS = ['pick-up', 'deliver', 'release', 'undeliverable', 'return'] as const;
export type Step = (typeof STEPS)[number];

/**
 * The behaviour of the bank or the network to it. `lost`: it took effect and the answer was lost;
 * `unreached`: the bank was not asked.
 */
export type BankAnswer = 'done' | 'soft' | 'hard' | 'lost' | 'unreached';

/**
 * A command. Stores and drivers are named by number; orders and keys by how many came after, so that a
 * sequence still makes sense when commands are taken out of it.
 */
export type Command =
  | {
      readonly kind: 'create';
      readonly store: number;
      readonly tierId: TierId;
      readonly key: number;
      readonly body: number;
    }
  | {
      readonly kind: 'cancel';
      readonly store: number;
      readonly order: number;
      readonly reason: number;
      readonly key: number;
    }
  | { readonly kind: 'operator-cancel' | 'operator-return' | 'nudge'; readonly order: number }
  | { readonly kind: 'duty'; readonly driver: number; readonly onDuty: boolean }
  | { readonly kind: 'move'; readonly driver: number; readonly ring: number }
  | {
      readonly kind: 'step';
      readonly step: Step;
      readonly driver: number;
      readonly order: number;
      readonly actionId: number;
    }
  | { readonly kind: 'expire'; readonly order: number; readonly isDue: boolean }
  | { readonly kind: 'suspend'; readonly store: number; readonly active: boolean }
  | { readonly kind: 'deactivate'; readonly driver: number }
  | { readonly kind: 'sweep' }
  | { readonly kind: 'charge' | 'refund'; readonly order: number; readonly bank: BankAnswer };

export const STORES = 2;
export const DRIVERS = 4;
/** Places of a driver: near, at the edge, in reach of the widest tier only, and out of all reach. */
export const RING_METERS = [500, 3_000, 11_900, 60_000] as const;
/** The driver who carries the order; without a key, and without an id for the action. */
export const CARRIER = DRIVERS;
export const NONE = 0;

const store = fc.nat(STORES - 1);
const driver = fc.nat(DRIVERS - 1);
/** Mostly one of the last few orders. */
const order = fc.oneof({ weight: 4, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.nat(30) });
/** Mostly none; otherwise one of a few, so that keys are reused. */
const key = fc.oneof(
  { weight: 1, arbitrary: fc.constant(NONE) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }) },
);
const bank = fc.constantFrom<BankAnswer>('done', 'done', 'done', 'soft', 'hard', 'lost', 'unreached');
const kindOf = <Kind extends string>(kind: Kind) => fc.constant(kind);

type Weighted = { readonly weight: number; readonly arbitrary: fc.Arbitrary<Command> };
const LIFE: readonly Weighted[] = [
  {
    weight: 10,
    arbitrary: fc.record({
      kind: kindOf('create'),
      store,
      tierId: fc.constantFrom(...TIER_IDS),
      key,
      body: fc.nat(1),
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({
      kind: kindOf('step'),
      step: fc.constantFrom(...STEPS),
      driver: fc.oneof({ weight: 5, arbitrary: fc.constant(CARRIER) }, { weight: 1, arbitrary: driver }),
      order,
      actionId: key,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kindOf('cancel'), store, order, reason: fc.nat(1), key }) },
  { weight: 4, arbitrary: fc.record({ kind: kindOf('duty'), driver, onDuty: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: kindOf('move'), driver, ring: fc.nat(RING_METERS.length - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('operator-cancel'), order }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('operator-return'), order }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('nudge'), order }) },
];

/** Commands over HTTP or the command line. */
export const anyRequest: fc.Arbitrary<Command> = fc.oneof(...LIFE);

const INSIDE: typeof LIFE = [
  { weight: 2, arbitrary: fc.record({ kind: kindOf('expire'), order, isDue: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('suspend'), store, active: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ kind: kindOf('charge'), order, bank }) },
  { weight: 3, arbitrary: fc.record({ kind: kindOf('refund'), order, bank }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('deactivate'), driver: fc.constantFrom(0, 3) }) },
];

/**
 * Commands inside: time passes, jobs run, stores are suspended and drivers leave. No sweep hides a missed
 * event.
 */
export const anyCommand: fc.Arbitrary<Command> = fc.oneof(...LIFE, ...INSIDE);

/** Commands with sweeps, which race everything else. */
export const anyWithSweeps: fc.Arbitrary<Command> = fc.oneof(...LIFE, ...INSIDE, {
  weight: 1,
  arbitrary: fc.record({ kind: kindOf('sweep') }),
});
