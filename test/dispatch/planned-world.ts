import { vi } from 'vitest';
import type { PlannedChoice } from '../../src/dispatch/planned-choice.ts';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { PlannedOrder } from '../../src/domain/plan.ts';
import type { Tier } from '../../src/domain/tier.ts';
import { type FoundDriver, Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { modelTravelMs } from '../../src/planner/place.ts';
import { type PlannerLoop, startPlannerLoop } from '../../src/planning/planner-loop.ts';
import { MODEL_TIMES } from '../../src/planning/road-times.ts';
import { createLogger } from '../../src/telemetry.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { freeDriver } from '../matcher/carrying.ts';

export const NOW = Date.parse('2030-01-31T17:00:00Z');
export const MINUTE = 60_000;
export const STORE = { lat: 40.73, lng: -73.99 };
export const DOOR = { lat: 40.74, lng: -73.99 };

export const tiersOf = (dispatchMode: Tier['dispatchMode']) =>
  new Map(Array.from(TIERS, ([id, tier]) => [id, { ...tier, dispatchMode }]));

export const order = (orderId: string, changes: Partial<WaitingOrder> = {}): WaitingOrder => ({
  orderId,
  retailerId: 'store',
  tierId: 'standard',
  point: STORE,
  sinceMs: Date.now(),
  dropoff: DOOR,
  readyAtMs: Date.now(),
  deliverByMs: Date.now() + 180 * MINUTE,
  ...changes,
});

/** A driver at the store who is heard from whatever time it is. */
export const driver = (id: string, changes: Partial<FleetDriver> = {}): FleetDriver =>
  freeDriver(id, STORE, Date.now() + 1_000 * MINUTE, {
    tierIds: ['standard', 'priority'],
    freeSinceMs: NOW,
    ...changes,
  });

/** Lets the clocks of the timers go on. */
export const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A matcher and a planner's loop, whose assignments the tables of `assign` decide. */
export class PlannedWorld {
  readonly matcher = new Matcher(tiersOf('planned'), true);
  /** What the planner gave, as "order to driver", with when. */
  readonly given: { readonly what: string; readonly atMs: number; readonly choice: PlannedChoice }[] = [];
  readonly noted: PlannedOrder[] = [];
  /** The epoch that the row of the lease has for this process; null while another one has it. */
  epoch: number | null = 1;
  assign = (orderId: string, driverId: string): void => this.end(orderId, driverId, 'assigned');
  /** How long a way takes by road beside the model. */
  travelFactor = 1;
  readonly loop: PlannerLoop;

  private constructor() {
    this.loop = startPlannerLoop({
      store: {
        takeLease: async (region) => (this.epoch === null ? null : { region, epoch: this.epoch }),
        leaveLease: async () => undefined,
        writePlans: async (lease, plans) => {
          if (lease.epoch === this.epoch) this.noted.push(...plans);
          return lease.epoch === this.epoch;
        },
      },
      matcher: this.matcher,
      redispatch: { assignPlanned: (...args) => this.#assignPlanned(...args) },
      roadTimes: { ...MODEL_TIMES, travelMs: (...way) => this.travelFactor * modelTravelMs(...way) },
      askIdle: () => undefined,
      clock: { now: () => Date.now() },
      logger: createLogger('silent'),
    });
  }

  /** Opens a world at NOW, whose clocks stand still but for `pass`. */
  static async open(): Promise<PlannedWorld> {
    vi.useFakeTimers({ now: NOW, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    const world = new PlannedWorld();
    await pass(0);
    return world;
  }

  async close(): Promise<void> {
    await this.loop.close();
    vi.useRealTimers();
  }

  gave(): string[] {
    return this.given.map(({ what }) => what);
  }

  /** Assigns as the tables do, whose answer comes later. */
  end(orderId: string, driverId: string, outcome: 'assigned' | 'driver_lost'): void {
    if (!this.matcher.beginAssign(orderId, driverId, Date.now())) return;
    setTimeout(() => this.matcher.endAssign(orderId, outcome, Date.now()), 1);
  }

  #assignPlanned(orderId: string, { driverId }: FoundDriver, choice: PlannedChoice, lost: () => void): void {
    this.given.push({ what: `${orderId} to ${driverId}`, atMs: Date.now(), choice });
    if (choice.lease.epoch === this.epoch) this.assign(orderId, driverId);
    else lost();
  }
}
