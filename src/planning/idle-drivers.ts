import { type ExpectedOrders, type IdleWait, isThere, type WaitPlace } from '../domain/idle-wait.ts';
import type { Lease } from '../domain/plan.ts';
import type { Point } from '../geo/point.ts';
import { below, IDLE_WAIT_MS, IDLE_WAIT_PAUSE_MS, MAX_WAITS_PER_LOOK, PLANNER_DEMAND_MS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Wait } from '../planner/types.ts';
import type { Clock } from '../postgres/clock.ts';
import type { AskedWait } from '../store/planning/driver-waits.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import type { PlannerView } from './planner-view.ts';

/** Interval at which orders are counted anew, by which more are expected. Below PLANNER_DEMAND_MS. */
export const DEMAND_REFRESH_MS = 5 * 60_000;
/** Time between two rounds of asking idle drivers where to wait. */
const IDLE_ROUND_MS = 30_000;

below({ DEMAND_REFRESH_MS }, { PLANNER_DEMAND_MS });

export type IdleDrivers = ReturnType<typeof createIdleDrivers>;

/** @param parts.isOn the operator's setting */
export function createIdleDrivers(parts: {
  readonly store: Pick<Store, 'loadDemand' | 'loadWaits' | 'writeWaits'>;
  readonly matcher: Pick<Matcher, 'driver' | 'isAvailable'>;
  readonly isOn: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const { store, matcher, clock } = parts;
  const demand = createDemand(parts);
  /** What drivers were asked within IDLE_WAIT_PAUSE_MS. */
  const asked = new Map<string, AskedWait>();
  let epoch: number | null = null;

  /** Another process may have asked since this one had the lease. */
  async function takeOver(lease: Lease): Promise<void> {
    const rows = await store.loadWaits();
    asked.clear();
    for (const each of rows) asked.set(each.driverId, each);
    epoch = lease.epoch;
  }

  /** The drivers who wait no longer. Those whom the pause has left are forgotten. */
  function goneIds(nowMs: number): string[] {
    for (const [id, { askedMs }] of asked) if (nowMs - askedMs >= IDLE_WAIT_PAUSE_MS) asked.delete(id);
    return [...asked.values()].filter((each) => !each.isOver && isDone(each, nowMs)).map(({ driverId }) => driverId);
  }

  function isDone({ driverId, place, askedMs }: AskedWait, nowMs: number): boolean {
    const driver = matcher.driver(driverId);
    if (!driver?.onDuty || driver.carried.length > 0 || driver.freeSinceMs > askedMs) return true;
    return nowMs - askedMs >= IDLE_WAIT_MS || isThere(driver.position, place);
  }

  function chosen(waits: readonly Wait[], goneNow: readonly string[], nowMs: number): IdleWait[] {
    const onTheWay = [...asked.values()].filter(({ driverId, isOver }) => !isOver && !goneNow.includes(driverId));
    const taken: Point[] = onTheWay.map(({ place }) => place);
    const known = new Set(asked.keys());
    const some: IdleWait[] = [];
    for (const { driverId, place } of waits) {
      if (some.length === MAX_WAITS_PER_LOOK) break;
      if (known.has(driverId) || !matcher.isAvailable(driverId, nowMs)) continue;
      // The planner sees drivers where they are, and would send a second one to where the first one goes.
      if (taken.some((other) => isThere(other, place))) continue;
      if (isThere(matcher.driver(driverId)?.position ?? null, place)) continue;
      known.add(driverId);
      taken.push(place);
      some.push({ driverId, place: { ...place, name: demand.nameAt(place) } });
    }
    return some;
  }

  return {
    /**
     * Asks drivers to wait where the planner wants them, and ends what is over: the driver came, or carries
     * something, or is off duty, or did not come in IDLE_WAIT_MS. Only one who may be given an order now is
     * asked, at most once in IDLE_WAIT_PAUSE_MS, and one at a time is on the way to a place. Does nothing for
     * a process that lost the lease. To be called some times a minute, also without waits.
     *
     * @throws what the store throws; then the next call tries again
     */
    async ask(waits: readonly Wait[], lease: Lease) {
      if (!parts.isOn) return;
      if (lease.epoch !== epoch) await takeOver(lease);
      const nowMs = clock.now();
      const gone = goneIds(nowMs);
      const fresh = chosen(waits, gone, nowMs);
      if (gone.length === 0 && fresh.length === 0) return;
      const changed = await store.writeWaits(lease, fresh, gone).catch((error) => {
        // It may have been written, so it is read again.
        epoch = null;
        throw error;
      });
      if (!changed) return;
      for (const id of gone) {
        const over = asked.get(id);
        if (over) asked.set(id, { ...over, isOver: true });
      }
      for (const { driverId, place } of fresh) {
        if (changed.includes(driverId)) asked.set(driverId, { driverId, place, askedMs: nowMs, isOver: false });
      }
    },
    /**
     * Where orders are expected; empty where idle drivers are not asked. The same list until it is read again,
     * each DEMAND_REFRESH_MS. Never throws: where it cannot be read, the one before stays.
     */
    expected: async () => (parts.isOn ? demand.read() : []),
  };
}

/**
 * Has idle drivers asked where to wait, each IDLE_ROUND_MS. A round that fails is made up for by the next.
 */
export function createIdleRounds(parts: {
  readonly idleDrivers: IdleDrivers;
  readonly clock: Clock;
  readonly logger: Logger;
}): (view: PlannerView, lease: Lease) => void {
  const { idleDrivers, clock, logger } = parts;

  async function round(view: PlannerView, lease: Lease): Promise<void> {
    const expected = await idleDrivers.expected();
    view.expect(expected, clock.now());
    await idleDrivers.ask(expected.length === 0 ? [] : view.planner.waits(clock.now()), lease);
  }

  return atMostEvery(IDLE_ROUND_MS, (view: PlannerView, lease: Lease) => {
    round(view, lease).catch((error) => logger.warn({ err: errorFields(error) }, 'idle drivers could not be asked'));
  });
}

/** Where orders are expected, as it was read last. */
function createDemand(parts: {
  readonly store: Pick<Store, 'loadDemand'>;
  readonly clock: Clock;
  readonly logger: Logger;
}): { read(): Promise<readonly ExpectedOrders[]>; nameAt(point: Point): string | null } {
  let known: readonly ExpectedOrders[] = [];
  let names = new Map<string, WaitPlace['name']>();
  let readMs = Number.NEGATIVE_INFINITY;

  async function readAnew(nowMs: number): Promise<void> {
    // Also where it fails, so that a slow database is not asked each time.
    readMs = nowMs;
    try {
      const rows = await parts.store.loadDemand(nowMs);
      known = rows;
      names = new Map(rows.map(({ point }) => [keyOf(point), point.name]));
    } catch (error) {
      parts.logger.warn({ err: errorFields(error) }, 'where orders are expected could not be read');
    }
  }

  return {
    async read() {
      const nowMs = parts.clock.now();
      if (nowMs - readMs >= DEMAND_REFRESH_MS) await readAnew(nowMs);
      return known;
    },
    nameAt: (point) => names.get(keyOf(point)) ?? null,
  };
}

const keyOf = ({ lat, lng }: Point) => `${lat},${lng}`;
