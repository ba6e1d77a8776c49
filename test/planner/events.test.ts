import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Planner } from '../../src/planner/planner.ts';
import type { OpenOrder, PlannedDriver, Rules, ToldStop } from '../../src/planner/types.ts';
import { runs } from '../harness/counts.ts';
import { seeded } from '../harness/world.ts';
import { at, drive, driver, latest, MINUTE_MS, order, RULES } from './brute-force.ts';

const ORDERS = 9;
const DRIVERS = 4;

/** Everything that happens around a planner, at random, with what is true of its plan after each event. */
class World {
  readonly #rules: Rules;
  readonly #planner: Planner;
  readonly #random: () => number;
  readonly #open = new Map<string, OpenOrder>();
  readonly #drivers = new Map<string, PlannedDriver>();
  #nowMs = 0;
  #orders = 0;

  constructor(rules: Rules, seed: number) {
    this.#rules = rules;
    this.#planner = new Planner(rules);
    this.#random = seeded(seed);
  }

  readonly events = {
    order: () => this.#putOrder(this.#orderOf(`order-${this.#orders++}`)),
    changedOrder: () => this.#ofOpen(({ id }) => this.#putOrder(this.#orderOf(id))),
    dropOrder: () => {
      this.#ofOpen(({ id }) => {
        this.#open.delete(id);
        this.#planner.dropOrder(id, this.#nowMs);
      });
    },
    driver: () => {
      const id = `driver-${this.#below(DRIVERS)}`;
      const duty = { room: 2 + this.#below(3), offDutyMs: this.#nowMs + this.#below(180) * MINUTE_MS };
      this.#putDriver({ ...(this.#drivers.get(id) ?? driver(id, duty)), ...this.#whereAndWhen() });
    },
    shuffledDriver: () => this.#ofDrivers((who) => this.#putDriver({ ...who, told: this.#shuffled(who.told) })),
    doneStop: () => {
      this.#ofDrivers((who) => {
        this.#putDriver({ ...who, ...this.#whereAndWhen(), told: who.told.slice(1) });
      });
    },
    // A driver gives back what is not on board, in either order of the two calls.
    release: () => {
      this.#ofDrivers((who) => {
        const picked = new Set(who.told.flatMap(({ kind, order: { id } }) => (kind === 'pickup' ? id : [])));
        const told = who.told.filter(({ order: { id } }) => !picked.has(id));
        const isFirst = this.#random() < 0.5;
        if (isFirst) this.#putDriver({ ...who, told });
        for (const { kind, order: each } of who.told) if (kind === 'pickup') this.#putOrder(each);
        if (!isFirst) this.#putDriver({ ...who, told });
      });
    },
    dropDriver: () => {
      this.#ofDrivers(({ id, told }) => {
        this.#drivers.delete(id);
        this.#planner.dropDriver(id, this.#nowMs);
        for (const { kind, order: each } of told) if (kind === 'pickup') this.#putOrder(each);
      });
    },
    time: () => {
      this.#nowMs += this.#below(10) * MINUTE_MS;
      this.#planner.begin(this.#nowMs);
    },
    pass: () => {
      this.#planner.begin(this.#nowMs);
      for (let steps = this.#below(60); steps > 0 && this.#planner.step(); steps--);
    },
    tell: () => {
      for (const { driverId, stops, orders } of this.#planner.due(this.#nowMs, this.#nowMs + 5 * MINUTE_MS)) {
        // Some are cancelled, or were given to another, in the same moment.
        if (this.#random() < 0.2) continue;
        for (const { id } of orders) {
          expect(this.#open.delete(id), `${id} was open`).toBe(true);
        }
        const told = this.#random() < 0.3 ? this.#shuffled(stops) : stops;
        this.#putDriver({ ...(this.#drivers.get(driverId) as PlannedDriver), told });
      }
    },
  };

  check(): void {
    const seen = new Set<string>();
    for (const who of this.#drivers.values()) {
      const stops = this.#planner.stopsOf(who.id);
      const isTold = ({ order: { id } }: ToldStop) => who.told.some((told) => told.order.id === id);
      expect(stops.filter(isTold)).toEqual(who.told);
      const planned = stops.filter((stop) => !isTold(stop));
      for (const { kind, order: each } of planned) {
        expect(this.#open.get(each.id), each.id).toEqual(each);
        expect(seen.has(`pickup ${each.id}`)).toBe(kind === 'dropoff');
        expect(seen.has(`${kind} ${each.id}`)).toBe(false);
        seen.add(`${kind} ${each.id}`);
      }
      this.#checkTimes(who, stops, planned);
    }
    for (const id of this.#open.keys()) {
      expect(this.#planner.estimate(id), id).toBeDefined();
      expect(this.#planner.estimate(id)?.driverId !== null && !seen.has(`dropoff ${id}`)).toBe(false);
    }
  }

  /** Estimates are those of the stops walked anew; a route that is no longer allowed has none. */
  #checkTimes(who: PlannedDriver, stops: readonly ToldStop[], planned: readonly ToldStop[]): void {
    if (planned.length === 0) return;
    const startMs = Math.max(who.freeAtMs, who.onDutyMs, this.#nowMs);
    const plan =
      who.told.length > 0 ? drive(this.#rules, who, stops, startMs) : latest(this.#rules, who, stops, this.#nowMs);
    for (const kind of ['pickup', 'dropoff'] as const) {
      const times = kind === 'pickup' ? plan?.pickups : plan?.doors;
      for (const [i, { order: each }] of stops.filter((stop) => stop.kind === kind).entries()) {
        if (!planned.some((stop) => stop.order === each)) continue;
        const estimate = this.#planner.estimate(each.id);
        // What was told may be late by the time that goes on, and then nothing else is planned beside it.
        if (!plan) expect(estimate).toEqual({ driverId: null });
        else if (estimate && 'doorMs' in estimate) {
          expect(estimate.driverId).toBe(who.id);
          expect(kind === 'pickup' ? estimate.pickupMs : estimate.doorMs).toBeCloseTo(times?.[i] as number, 0);
        } else expect(who.told.length).toBeGreaterThan(0);
      }
    }
  }

  /** With nobody else and no shift that ends, one driver has all that is open in their route after a pass. */
  finish(): void {
    this.#putDriver(driver('last', { freeAtMs: this.#nowMs, room: 4 }));
    this.#planner.begin(this.#nowMs);
    while (this.#planner.step());
    this.check();
    for (const id of this.#open.keys()) expect(this.#planner.estimate(id)?.driverId).not.toBeNull();
  }

  #putOrder(each: OpenOrder): void {
    if (!this.#open.has(each.id) && this.#open.size >= ORDERS) return;
    this.#open.set(each.id, each);
    this.#planner.putOrder(each, this.#nowMs);
  }

  #putDriver(who: PlannedDriver): void {
    this.#drivers.set(who.id, who);
    this.#planner.putDriver(who, this.#nowMs);
  }

  #ofOpen(act: (each: OpenOrder) => void): void {
    const each = [...this.#open.values()][this.#below(this.#open.size)];
    if (each) act(each);
  }

  #ofDrivers(act: (who: PlannedDriver) => void): void {
    const who = [...this.#drivers.values()][this.#below(this.#drivers.size)];
    if (who) act(who);
  }

  #orderOf(id: string): OpenOrder {
    const soonMs = () => this.#nowMs + this.#below(90) * MINUTE_MS;
    return order(id, {
      pickup: this.#somewhere(),
      dropoff: this.#somewhere(),
      placedMs: this.#nowMs,
      readyMs: soonMs(),
      doorFromMs: this.#random() < 0.3 ? soonMs() : undefined,
      dueMs: this.#nowMs + (30 + this.#below(120)) * MINUTE_MS,
      room: 1 + this.#below(2),
    });
  }

  #whereAndWhen() {
    const freeAtMs = this.#nowMs + this.#below(20) * MINUTE_MS;
    return { place: this.#somewhere(), freeAtMs, isPickingUp: this.#random() < 0.3 };
  }

  /** Stops in another order, each pickup before its dropoff. */
  #shuffled(stops: readonly ToldStop[]): ToldStop[] {
    const left = [...stops];
    const shuffled: ToldStop[] = [];
    while (left.length > 0) {
      const next = left.filter(({ kind, order: { id } }) => {
        return kind === 'pickup' || !left.some((each) => each.kind === 'pickup' && each.order.id === id);
      });
      const stop = next[this.#below(next.length)] as ToldStop;
      shuffled.push(...left.splice(left.indexOf(stop), 1));
    }
    return shuffled;
  }

  #somewhere = () => at(1_500 * this.#below(4), 1_500 * this.#below(4));
  #below = (count: number) => Math.floor(count * this.#random());
}

type Event = keyof World['events'];
const event: fc.Arbitrary<Event> = fc.constantFrom<Event[]>(
  ...(Object.keys(new World(RULES, 1).events) as Event[]),
  ...(['order', 'order', 'driver', 'driver', 'pass', 'tell'] as const),
);

it('whatever happens in whatever order, the plan stays sound', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 80, size: 'max' }), fc.nat(), (events, seed) => {
      const world = new World(RULES, seed);
      for (const each of events) {
        world.events[each]();
        world.check();
      }
      world.finish();
    }),
    { numRuns: runs(20, 60) },
  );
});
