import { below, PLANNER_LOOK_MS } from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { PLANNER_PASS_MS } from './planned-drivers.ts';
import type { PlannerView } from './planner-view.ts';
import type { RoadTimes } from './road-times.ts';

/** A pass that comes early, for a driver who is free, waits for so many times what the last one took. */
const PLANNER_PASS_REST = 25;
/** Longest turn of the event loop that planning takes. Below PLANNER_LOOK_SOON_MS. */
export const PLANNER_TURN_MS = 4;
/** Time that planning leaves to everything else after a turn, in turns. */
const PLANNER_REST_TURNS = 3;
/** Most orders in a plan whose ways are all asked of the router; above, those of what is told. */
const MAX_NOTED_ORDERS = 300;

below({ PLANNER_LOOK_MS }, { PLANNER_PASS_MS });

export type PassParts = {
  readonly view: PlannerView;
  readonly roadTimes: RoadTimes;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs a turn; false where this process plans no more, or plans anew. */
  readonly turn: (work: () => void) => boolean;
  /** Asks for a look soon: before a pass, as it has drivers and orders brought over, and after it. */
  readonly lookSoon: () => void;
};

/**
 * The passes over a plan: each PLANNER_PASS_MS, or sooner for a driver who came free. A pass is done in turns
 * that leave most of the time to everything else.
 */
export class PlannerPasses {
  readonly #parts: PassParts;
  #fromMs = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  #isUnderWay = false;
  /** Whether a pass begins once what it looks at was brought over. */
  #isNext = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: PassParts) {
    this.#parts = parts;
  }

  /**
   * Begins a pass where it is time; to be called whenever all was brought over. One that was not done by then
   * ends: the new one does its rest.
   */
  beginIfDue(): void {
    const { view, clock, lookSoon } = this.#parts;
    if (this.#isNext) {
      this.#isNext = false;
      view.planner.begin(clock.now());
      this.#stepOn();
      return;
    }
    const soonMs = Math.min(PLANNER_PASS_MS, Math.max(PLANNER_LOOK_MS, PLANNER_PASS_REST * this.#tookMs));
    const everyMs = view.wantsPass && !this.#isUnderWay ? soonMs : PLANNER_PASS_MS;
    if (performance.now() < this.#fromMs + everyMs || view.isIdle(clock.now())) return;
    this.#fromMs = performance.now();
    this.#isUnderWay = true;
    this.#tookMs = 0;
    clearTimeout(this.#timer);
    view.beginPass(clock.now());
    this.#isNext = true;
    lookSoon();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #stepOn(): void {
    const { view, roadTimes, turn, logger } = this.#parts;
    const beganMs = performance.now();
    let isMore = true;
    const steps = () => {
      while (isMore && performance.now() < beganMs + PLANNER_TURN_MS) isMore = view.planner.step();
    };
    // In a large plan only what is told is asked for: to note each way takes longer than to plan it.
    if (!turn(() => (view.orderCount <= MAX_NOTED_ORDERS ? roadTimes.noting(steps) : steps()))) return;
    const tookMs = performance.now() - beganMs;
    this.#tookMs += tookMs;
    if (isMore) this.#timer = setTimeout(() => this.#stepOn(), PLANNER_REST_TURNS * tookMs);
    else this.#end().catch((error) => logger.warn({ err: errorFields(error) }, 'roads could not be asked for'));
  }

  /** New roads may change the plan, so the next pass comes at once. */
  async #end(): Promise<void> {
    this.#isUnderWay = false;
    if (await this.#parts.roadTimes.fetchWanted()) this.#fromMs = Number.NEGATIVE_INFINITY;
    this.#parts.lookSoon();
  }
}
