import type { DriverVersion } from '../../src/matcher/drivers.ts';
import type { Matcher, WaitingOrder } from '../../src/matcher/matcher.ts';
import type { Store } from '../../src/store/store.ts';
import type { Plant } from './day.ts';

/** A bug that the service had once, planted again at a seam, so that no source has to be changed for it. */
export type Mutation = {
  readonly name: string;
  /** What the service does then. */
  readonly about: string;
  /** The kinds of findings by which the model sees it. */
  readonly kinds: readonly string[];
  /** A seed whose day shows it, tried first, as a day takes a second. */
  readonly seed: number;
  readonly plant: Plant;
};

/** The seams of a matcher that a bug is planted at; a name that it does not have is left out. */
type Seams = {
  gate?: { allows: (...args: unknown[]) => boolean };
  planned: {
    mayCarry: (...args: unknown[]) => boolean;
    versionOf: (driverId: string) => DriverVersion;
  };
};
const seamsOf = (matcher: Matcher): Seams => matcher as unknown as Seams;

/** Gives whatever is asked for: the tables alone decide. */
function openGate(matcher: Matcher): void {
  const { gate } = seamsOf(matcher);
  if (gate) gate.allows = () => true;
}

/** The planner goes on with what it first knew of where idle drivers are, and when they were heard from. */
function staleForPlanner(matcher: Matcher): void {
  const { planned } = seamsOf(matcher);
  const { versionOf } = planned;
  planned.versionOf = (driverId) => ({ ...versionOf.call(planned, driverId), heardMs: Number.MAX_SAFE_INTEGER });
}

/** What a driver drives is no reason for the planner once an order is meant for them. */
function carriesAnything(matcher: Matcher): void {
  const { planned } = seamsOf(matcher);
  const could = new Set<string>();
  const { mayCarry } = planned;
  planned.mayCarry = (...args) => {
    const [driver, , order] = args as [string | { id: string }, unknown, WaitingOrder];
    const key = `${typeof driver === 'string' ? driver : driver.id} ${order.orderId}`;
    if (could.has(key)) return true;
    const may = mayCarry.apply(planned, args);
    if (may) could.add(key);
    return may;
  };
}

/** Who takes the right to plan keeps its epoch while the row is theirs, whether they still plan by it or not. */
function keepEpoch(store: Store): Store {
  let last: number | null = null;
  return {
    ...store,
    async takeLease(region, ttlMs) {
      const lease = await store.takeLease(region, ttlMs, last);
      last = lease?.epoch ?? last;
      return lease;
    },
  };
}

/** A driver with a parcel on board is always where they were when they got it: they never come later. */
function neverOverdue(matcher: Matcher): void {
  const { planned } = seamsOf(matcher) as unknown as { planned: { isDriving?: (driverId: string) => boolean } };
  // What is known of overdue stops is kept for who drives alone.
  if (planned.isDriving) planned.isDriving = () => false;
}

/** The bugs that were found from outside, each planted alone. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'gifts to the silent and the far',
    about: 'the planner gives by what it knew of drivers before a quiet spell, and nobody asks again',
    kinds: ['silent', 'out_of_reach'],
    seed: 12,
    plant: {
      matcher(matcher) {
        openGate(matcher);
        staleForPlanner(matcher);
        carriesAnything(matcher);
      },
    },
  },
  {
    name: 'doors that are found late',
    about: 'reach neither matcher nor planner, which keep the centre of the ZIP code',
    kinds: ['memory_door', 'memory_carried_door'],
    seed: 2,
    plant: { hears: (payload) => !payload.includes(':door:') },
  },
  {
    name: 'a driver who stands still',
    about: 'is thought free in a few minutes at each look, so that an order waits for them',
    kinds: ['not_given'],
    seed: 6,
    plant: { matcher: neverOverdue },
  },
  {
    name: 'a van that became a car',
    about: 'keeps what was planned for it',
    kinds: ['unqualified'],
    seed: 5,
    plant: {
      matcher(matcher) {
        openGate(matcher);
        carriesAnything(matcher);
      },
    },
  },
  {
    name: 'plans of orders that are over',
    about: 'stay where the right to plan was lost and taken again in its epoch',
    kinds: ['plan_left'],
    seed: 11,
    plant: { store: keepEpoch },
  },
  {
    name: 'a duty without an answer',
    about: 'is committed and never read again',
    kinds: ['memory_duty'],
    seed: 1,
    plant: {
      dispatch({ unknownOutcomes }) {
        unknownOutcomes.addDriver = () => undefined;
      },
    },
  },
];
