import type { Redispatch } from '../dispatch/redispatch.ts';
import type { Lease } from '../domain/plan.ts';
import { distanceMeters } from '../geo/point.ts';
import { below, PLANNER_LOOK_MS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import { MAX_TOLD_PER_LOOK } from '../planner/planner.ts';
import type { Tell } from '../planner/types.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { PlanNotes } from './plan-notes.ts';
import { keepPlannerLease } from './planner-lease.ts';
import { PLANNER_TURN_MS, PlannerPasses } from './planner-passes.ts';
import { PlannerView } from './planner-view.ts';
import type { RoadTimes } from './road-times.ts';

/** Shortest time between two looks, where one left something to do or a driver waits for it. Below PLANNER_CHANGE_MS. */
const PLANNER_LOOK_SOON_MS = 20;
/**
 * Shortest time between two looks because of changes: a look costs about the same for one change as for fifty,
 * and nobody notices a tenth of a second. Below PLANNER_LOOK_MS.
 */
const PLANNER_CHANGE_MS = 100;

below({ PLANNER_LOOK_SOON_MS }, { PLANNER_CHANGE_MS });
below({ PLANNER_CHANGE_MS }, { PLANNER_LOOK_MS });
below({ PLANNER_TURN_MS }, { PLANNER_LOOK_SOON_MS });

export type PlannerLoop = {
  /** Resolves after the next look, which is soon and sees this driver anew; null where nothing is planned for them. */
  nextLook(driverId: string): Promise<void> | null;
  close(): Promise<void>;
};

export type PlannerLoopParts = {
  readonly store: Pick<Store, 'takeLease' | 'leaveLease' | 'writePlans'>;
  readonly matcher: Matcher;
  readonly redispatch: Pick<Redispatch, 'assignPlanned'>;
  readonly roadTimes: RoadTimes;
  /** Told at each look; asks idle drivers where to wait. */
  readonly askIdle: (view: PlannerView, lease: Lease) => void;
  readonly clock: Clock;
  readonly logger: Logger;
};

/** What a process has while it plans. */
type Turn = {
  readonly lease: Lease;
  readonly view: PlannerView;
  readonly notes: PlanNotes;
  readonly passes: PlannerPasses;
};

/**
 * Plans what waits, in the one process that has the right to: brings changes to the planner, tells drivers who
 * have to leave, and improves the plan in small turns. A plan is in memory alone; what is told is assigned in
 * the tables, whose rows decide.
 */
export function startPlannerLoop(parts: PlannerLoopParts): PlannerLoop {
  const { store, matcher, roadTimes, clock, logger } = parts;
  let turn: Turn | null = null;
  let lookTimer: NodeJS.Timeout | undefined;
  let lookedMs = 0;
  let notedMs = Number.NEGATIVE_INFINITY;
  let nextLookMs = Number.POSITIVE_INFINITY;
  let waiters: (() => void)[] = [];

  const lease = keepPlannerLease({
    store,
    nowMs: () => performance.now(),
    changed: (held) => (held ? begin(held) : end()),
    logger,
  });
  matcher.planned.listen({
    orderChanged(orderId) {
      if (!turn) return;
      turn.view.orderChanged(orderId);
      lookAfter(PLANNER_CHANGE_MS);
    },
    driverChanged(driverId) {
      if (turn?.view.driverChanged(driverId)) lookAfter(PLANNER_CHANGE_MS);
    },
    tiersChanged: () => turn?.view.tiersChanged(),
  });

  function begin(held: Lease): void {
    end();
    logger.info({ epoch: held.epoch }, 'this process plans');
    turn = { lease: held, notes: new PlanNotes(store, logger), ...newPlan() };
    lookSoon();
  }

  function newPlan(): Pick<Turn, 'view' | 'passes'> {
    const view = new PlannerView(matcher, roadTimes.travelMs);
    const isOn = () => turn?.view === view && lease.current() !== null;
    const passes = new PlannerPasses({
      ...{ view, roadTimes, clock, logger },
      turn(work) {
        if (turn && isOn()) guarded(turn, work);
        return isOn();
      },
      lookSoon: () => isOn() && lookSoon(),
    });
    return { view, passes };
  }

  function end(): void {
    if (turn) logger.info({ epoch: turn.lease.epoch }, 'this process plans no more');
    const ended = turn;
    turn = null;
    ended?.passes.close();
    ended?.view.close();
    clearTimeout(lookTimer);
    nextLookMs = Number.POSITIVE_INFINITY;
    looked();
  }

  function looked(): void {
    const waiting = waiters;
    waiters = [];
    for (const resolve of waiting) resolve();
  }

  const lookSoon = () => lookAfter(PLANNER_LOOK_SOON_MS);

  /** Looks so long after the last look, unless it looks sooner anyway. */
  function lookAfter(ms: number): void {
    if (lookedMs + ms >= nextLookMs) return;
    nextLookMs = lookedMs + ms;
    clearTimeout(lookTimer);
    lookTimer = setTimeout(look, Math.max(0, nextLookMs - performance.now()));
  }

  /** Tells who has to leave before the next look. */
  function look(): void {
    nextLookMs = Number.POSITIVE_INFINITY;
    if (lease.current() === null || !turn) return;
    lookedMs = performance.now();
    guarded(turn, (at) => {
      const { view } = at;
      const isDone = view.flush(clock.now(), isOverBy(lookedMs + PLANNER_TURN_MS));
      tellDrivers(at);
      if (isDone) at.passes.beginIfDue();
      if (!isDone || view.hasUntried) lookSoon();
    });
    note();
    looked();
    if (turn) lookAfter(PLANNER_LOOK_MS);
  }

  /** What a bug throws costs the plan alone: it is made anew, from the matcher. */
  function guarded(at: Turn, work: (at: Turn) => void): void {
    try {
      work(at);
    } catch (error) {
      planAnew(at, error);
    }
  }

  function planAnew(at: Turn, error: unknown): void {
    logger.error({ err: errorFields(error) }, 'a plan failed, and is made anew');
    if (turn?.view !== at.view) return;
    at.passes.close();
    turn = { ...at, ...newPlan() };
  }

  function tellDrivers({ lease: held, view }: Turn): void {
    const nowMs = clock.now();
    const tells = roadTimes.noting(() => view.planner.due(nowMs, nowMs + PLANNER_LOOK_MS));
    for (const tell of tells) give(tell, held, view);
    if (tells.length === 0) return;
    // From now on the planner knows of them as told, and there may be more.
    view.putNow(
      tells.map(({ driverId }) => driverId),
      nowMs,
    );
    const told = tells.reduce((sum, { orders }) => sum + orders.length, 0);
    lookAfter(told < MAX_TOLD_PER_LOOK ? PLANNER_CHANGE_MS : PLANNER_LOOK_SOON_MS);
  }

  function give({ driverId, orders }: Tell, held: Lease, view: PlannerView): void {
    for (const { id, cost, nextBest } of orders) {
      const order = matcher.planned.open(id);
      const position = matcher.driver(driverId)?.position;
      if (!order) view.orderChanged(id);
      if (!order || !position) continue;
      const driver = { driverId, distanceMeters: distanceMeters(position, order.point) };
      parts.redispatch.assignPlanned(id, driver, { lease: held, cost, nextBest }, () => lease.lost(held));
      if (matcher.planned.open(id)) view.refused(id, driverId);
    }
  }

  /** Notes plans down for readers, and has idle drivers asked where to wait. */
  function note(): void {
    const at = turn;
    if (!at || lookedMs < notedMs + PLANNER_LOOK_MS) return;
    notedMs = lookedMs;
    at.notes
      .write(at.view, at.lease)
      .then((isHeld) => isHeld || lease.lost(at.lease))
      .catch((error) => planAnew(at, error));
    parts.askIdle(at.view, at.lease);
  }

  return {
    nextLook(driverId) {
      if (!turn?.view.driverChanged(driverId)) return null;
      lookSoon();
      return new Promise((resolve) => {
        waiters.push(resolve);
      });
    },
    async close() {
      await lease.close();
      end();
    },
  };
}

const isOverBy = (ms: number) => () => performance.now() >= ms;
