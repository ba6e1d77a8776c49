import type { Lease, PlannedOrder } from '../domain/plan.ts';
import type { Planner } from '../planner/planner.ts';
import { classifyFailure } from '../postgres/failures.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/** Change of a planned arrival below which readers are not told of it. Below ESTIMATE_MOVED_MS. */
export const PLAN_TOLD_MS = 30_000;
/** Time after which plans are written without a change, so that late news of them is told, and lost ones are back. */
export const PLANS_REWRITTEN_MS = 30_000;
/** Most orders whose plans are looked at for readers in one look. */
export const MAX_PLANS_PER_LOOK = 300;

/** The orders whose plans are noted down. `isCaughtUp`: whether each of them was tried, and none is still to come. */
type Orders = {
  orderIds(): Iterable<string>;
  has(orderId: string): boolean;
  /** Whether it is being given to a driver, which the tables may refuse. */
  isBeingGiven(orderId: string): boolean;
  readonly isCaughtUp: boolean;
  readonly planner: Planner;
};

/**
 * Notes down, for readers in any process, who is meant for each waiting order and when: what has changed since,
 * some orders at a time, and one statement at a time.
 */
export class PlanNotes {
  readonly #store: Pick<Store, 'writePlans'>;
  readonly #logger: Logger;
  readonly #noted = new Map<string, PlannedOrder>();
  #round: Iterator<string> | undefined;
  /** Whether each order was tried when the round began. */
  #isRoundWhole = false;
  #isWriting = false;
  /** Whether each order was looked at since this process plans. */
  #isWhole = false;
  /** When all were written last. */
  #writtenMs = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<Store, 'writePlans'>, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /**
   * Writes the next changes. A write that failed is tried again.
   *
   * @returns false where the right to plan is over: another process has it, or a write had no answer and may come
   *   yet, over later ones. Without the right it is refused.
   */
  async write(orders: Orders, lease: Lease): Promise<boolean> {
    if (this.#isWriting) return true;
    const changes = this.#nextChanges(orders);
    const gone = this.#gone(orders);
    const isOld = this.#isOld();
    if (changes.length === 0 && gone.length === 0 && !isOld) return true;
    const planned = isOld ? this.#allWith(changes, gone) : changes;
    this.#isWriting = true;
    try {
      if (!(await this.#store.writePlans(lease, planned, gone, this.#isWhole))) return false;
      if (isOld || this.#writtenMs === Number.NEGATIVE_INFINITY) this.#writtenMs = performance.now();
      for (const each of planned) this.#noted.set(each.orderId, each);
      for (const id of gone) this.#noted.delete(id);
    } catch (error) {
      this.#logger.warn({ err: errorFields(error) }, 'plans could not be noted down');
      return classifyFailure(error) !== 'unknown';
    } finally {
      this.#isWriting = false;
    }
    return true;
  }

  /**
   * Whether to write all without a change: a store may be told now of an estimate that it could not be told of
   * before, what another process planned is to be forgotten, and a crash of Postgres empties the table of plans.
   */
  #isOld(): boolean {
    if (!this.#isWhole || performance.now() < this.#writtenMs + PLANS_REWRITTEN_MS) return false;
    return this.#noted.size > 0 || this.#writtenMs === Number.NEGATIVE_INFINITY;
  }

  #allWith(changes: readonly PlannedOrder[], goneIds: readonly string[]): PlannedOrder[] {
    const all = new Map([...this.#noted, ...changes.map((each) => [each.orderId, each] as const)]);
    for (const id of goneIds) all.delete(id);
    return [...all.values()];
  }

  #nextChanges(orders: Orders): PlannedOrder[] {
    const changes: PlannedOrder[] = [];
    for (let left = MAX_PLANS_PER_LOOK; left > 0; left--) {
      if (!this.#round) this.#isRoundWhole = orders.isCaughtUp;
      this.#round ??= orders.orderIds()[Symbol.iterator]();
      const { value: orderId, done } = this.#round.next();
      if (done) {
        this.#round = undefined;
        this.#isWhole ||= this.#isRoundWhole;
        break;
      }
      const estimate = orders.planner.estimate(orderId);
      if (!estimate || estimate.driverId === null) continue;
      const next = { orderId, ...estimate };
      if (isNews(this.#noted.get(orderId), next)) changes.push(next);
    }
    return changes;
  }

  /** What is planned no more. The plan of an order that is being given counts until the tables have it as given. */
  #gone(orders: Orders): string[] {
    const gone: string[] = [];
    for (const id of this.#noted.keys()) {
      if (gone.length === MAX_PLANS_PER_LOOK) break;
      if (orders.isBeingGiven(id)) continue;
      if (!orders.has(id) || orders.planner.estimate(id)?.driverId == null) gone.push(id);
    }
    return gone;
  }
}

function isNews(before: PlannedOrder | undefined, next: PlannedOrder): boolean {
  return !before || before.driverId !== next.driverId || Math.abs(before.doorMs - next.doorMs) >= PLAN_TOLD_MS;
}
