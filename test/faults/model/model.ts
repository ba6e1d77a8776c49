import type { HoldReason } from '../../../src/domain/hold.ts';
import { canBecome, type OrderStatus } from '../../../src/domain/order.ts';
import type { Tier, Tiers } from '../../../src/domain/tier.ts';
import { distanceMeters, type Point } from '../../../src/geo/point.ts';
import type { BankAnswer, Step } from './commands.ts';
import { Credit, Money, owesNothing } from './money.ts';
import { type Answer, LEADS, type ModelDriver, type ModelOrder, type ModelStore } from './nouns.ts';

/**
 * Tolerance for comparing claims, since the observers' clocks differ: half a second at the largest weight.
 */
const CLAIM_SLACK = 2_000;
const ACTIVE: readonly OrderStatus[] = ['driver_assigned', 'picked_up', 'undeliverable'];

/**
 * A model of the orders of a few stores and drivers by the README, one request at a time. It does not predict
 * which driver gets an order but judges it: {@link Model.give} says whether an assignment was right,
 * {@link Model.leftOver} what must not be left once memory and tables agree.
 */
export class Model {
  readonly stores: readonly ModelStore[];
  readonly drivers: readonly ModelDriver[];
  readonly orders = new Map<string, ModelOrder>();
  /** Whether a store was let go since all agreed: several orders and drivers are then matched at once. */
  hasLetGo = false;
  readonly #point: Point;
  readonly #tiers: Tiers;

  /** @param point the point of all stores */
  constructor(storeIds: readonly string[], drivers: readonly ModelDriver[], point: Point, tiers: Tiers) {
    this.stores = storeIds.map((id) => ({
      id,
      isActive: true,
      made: new Map(),
      cancelled: new Map(),
      credit: new Credit(),
    }));
    this.drivers = drivers;
    this.#point = point;
    this.#tiers = tiers;
  }

  /** The expected refusal of a request for an order; undefined where it makes one. */
  createAnswer(store: ModelStore, key: string | null, says: string): Answer | undefined {
    if (!store.isActive) return { kind: 'unauthorized' };
    const before = key === null ? undefined : this.orders.get(store.made.get(key) ?? '');
    if (!before) return undefined;
    if (before.says !== says) return { kind: 'key_reused', orderId: before.id };
    return { kind: 'replayed', orderId: before.id, status: before.createdAs };
  }

  /** An order was made. */
  created(
    id: string,
    order: Pick<ModelOrder, 'storeId' | 'tierId' | 'says' | 'createdAs' | 'sinceMs'>,
    key: string | null,
  ): void {
    const money = new Money();
    const made: ModelOrder = {
      id,
      ...order,
      fairStartMs: null,
      status: 'pending_dispatch',
      driverId: null,
      excluded: [],
      events: ['created'],
      money,
    };
    this.orders.set(id, made);
    if (key !== null) this.stores.find((store) => store.id === order.storeId)?.made.set(key, id);
  }

  /** Applies a driver's step; returns the expected answer. */
  step(step: Step, driver: ModelDriver, orderId: string, actionId: string | null): Answer {
    const order = this.orders.get(orderId);
    const { from, to, event } = LEADS[step];
    if (order?.driverId === driver.id && order.status === from) {
      this.#change(order, to, event);
      if (step === 'release') {
        order.excluded.push(driver.id);
        order.driverId = null;
      }
      const sequence = order.events.length;
      if (actionId !== null && !driver.actions.has(actionId)) {
        driver.actions.set(actionId, { orderId, status: to, sequence });
      }
      return { kind: 'done', status: to, sequence };
    }
    const earlier = actionId === null ? undefined : driver.actions.get(actionId);
    if (earlier?.orderId === orderId && earlier.status === to)
      return { kind: 'done', status: to, sequence: earlier.sequence };
    return order?.driverId === driver.id ? { kind: 'illegal', status: order.status } : { kind: 'not_found' };
  }

  /** Applies a store's cancellation; returns the expected answer. */
  cancel(store: ModelStore, orderId: string, reason: string, key: string | null): Answer {
    const found = this.orders.get(orderId);
    const order = found?.storeId === store.id ? found : undefined;
    const before = key === null ? undefined : store.cancelled.get(key);
    if (order && canBecome(order.status, 'cancelled') && !before) {
      if (key !== null) store.cancelled.set(key, { orderId, reason });
      this.#endUndelivered(order, 'cancelled');
      return { kind: 'cancelled' };
    }
    if (before) {
      const isSame = before.orderId === orderId && before.reason === reason;
      return isSame ? { kind: 'replayed' } : { kind: 'key_reused', orderId: before.orderId };
    }
    if (!order) return { kind: 'not_found' };
    return order.status === 'cancelled' ? { kind: 'already' } : { kind: 'illegal', status: order.status };
  }

  /** Applies the operator's cancellation; true where it changed anything. */
  cancelByOperator(orderId: string): boolean {
    const order = this.orders.get(orderId);
    if (!order || !canBecome(order.status, 'cancelled')) return false;
    this.#endUndelivered(order, 'cancelled');
    return true;
  }

  /** Ends a picked-up order for the operator; true where that changed anything. */
  returnByOperator(orderId: string): boolean {
    const order = this.orders.get(orderId);
    if (order?.status === 'picked_up') this.#change(order, 'undeliverable', 'undeliverable');
    if (order?.status !== 'undeliverable') return false;
    this.#change(order, 'returned', 'returned');
    return true;
  }

  /** The longest wait of an order is over. */
  expire(orderId: string): void {
    const order = this.orders.get(orderId);
    if (order?.status === 'pending_dispatch') this.#endUndelivered(order, 'expired');
  }

  /** The operator deactivates a driver, whose orders go to others before their pickup. */
  deactivate(driver: ModelDriver): void {
    driver.isActive = false;
    driver.onDuty = false;
    for (const order of this.carried(driver.id)) {
      if (order.status !== 'driver_assigned') continue;
      this.#change(order, 'pending_dispatch', 'released');
      order.driverId = null;
    }
  }

  charge(orderId: string, bank: BankAnswer): Answer {
    const order = this.orders.get(orderId);
    if (!order) return { kind: 'no_job' };
    const { kind, event } = order.money.charge(bank, owesNothing(order));
    if (event) order.events.push(event);
    const { credit } = this.#storeOf(order);
    if (event === 'payment_failed') credit.fail(order, this.#ofStore(order.storeId));
    if (event === 'payment_paid') this.hasLetGo ||= credit.prove();
    return { kind };
  }

  refund(orderId: string, bank: BankAnswer): Answer {
    const order = this.orders.get(orderId);
    if (!order) return { kind: 'no_job' };
    const { kind, event } = order.money.refund(bank);
    if (event) order.events.push(event);
    return { kind };
  }

  carried(driverId: string): ModelOrder[] {
    return this.#all().filter((order) => order.driverId === driverId && ACTIVE.includes(order.status));
  }

  /** Applies an assignment from the tables; returns a sentence where it was wrong. */
  give(order: ModelOrder, driverId: string, isBestAsked: boolean): string | null {
    const driver = this.drivers.find(({ id }) => id === driverId);
    if (order.status !== 'pending_dispatch') return `${order.status} order ${order.id} was given to a driver`;
    if (!driver || !this.#fits(order, driver)) return `order ${order.id} was given to ${driverId}, who cannot have it`;
    const better = isBestAsked && !this.hasLetGo ? this.#better(order, driver) : undefined;
    if (better) return `order ${order.id} was given to ${driverId}, though ${better}`;
    this.#change(order, 'driver_assigned', 'driver_assigned');
    order.driverId = driverId;
    order.money.owe();
    this.#storeOf(order).credit.give(order);
    return null;
  }

  /**
   * Why the assignment was wrong: a nearer driver, or an order with a stronger claim. As all stores are at
   * one place, the ways are equal, and that order would cost less.
   */
  #better(order: ModelOrder, driver: ModelDriver): string | undefined {
    const nearer = this.drivers.find((other) => this.#fits(order, other) && this.#away(other) < this.#away(driver));
    if (nearer) return `${nearer.id} is nearer`;
    const nowMs = Date.now();
    const claim = ({ tierId, sinceMs, fairStartMs }: ModelOrder) =>
      Math.max(0, nowMs - (fairStartMs ?? sinceMs)) * (this.#tiers.get(tierId) as Tier).weight;
    const stronger = this.#waiting().find(
      (other) => this.#fits(other, driver) && claim(other) > claim(order) + CLAIM_SLACK,
    );
    return stronger && `${stronger.id} has the stronger claim`;
  }

  /** Suspends a store, or ends its suspension. */
  setActive(store: ModelStore, isActive: boolean): void {
    this.hasLetGo ||= isActive && !store.isActive;
    store.isActive = isActive;
  }

  /** Why the waiting orders of a store get no driver; null where they may. */
  holdOf({ isActive, credit }: ModelStore): HoldReason | null {
    if (!isActive) return 'store_suspended';
    return credit.isSpent() ? 'payment_required' : null;
  }

  /** Pairs of a waiting order and a driver who could get it. */
  leftOver(): string[] {
    return this.#waiting().flatMap((order) =>
      this.drivers.filter((driver) => this.#fits(order, driver)).map(({ id }) => `${order.id} waits beside ${id}`),
    );
  }

  /** Whether a driver could get the order now. */
  hasDriver(order: ModelOrder): boolean {
    return this.drivers.some((driver) => this.#fits(order, driver));
  }

  open(): ModelOrder[] {
    return this.#all().filter(({ status }) => status === 'pending_dispatch' || ACTIVE.includes(status));
  }

  #waiting(): ModelOrder[] {
    return this.#all().filter(({ status }) => status === 'pending_dispatch');
  }

  #all(): ModelOrder[] {
    return [...this.orders.values()];
  }

  #away({ point }: ModelDriver): number {
    return distanceMeters(this.#point, point);
  }

  #storeOf({ storeId }: ModelOrder): ModelStore {
    return this.stores.find(({ id }) => id === storeId) as ModelStore;
  }

  #ofStore(storeId: string): ModelOrder[] {
    return this.#all().filter((order) => order.storeId === storeId);
  }

  #isHeld(order: ModelOrder): boolean {
    const hold = this.holdOf(this.#storeOf(order));
    return hold === 'store_suspended' || (hold === 'payment_required' && !order.money.isCharged());
  }

  #fits(order: ModelOrder, driver: ModelDriver): boolean {
    const { tierId, excluded } = order;
    if (order.status === 'pending_dispatch' && this.#isHeld(order)) return false;
    const mayWork =
      driver.isActive && driver.onDuty && driver.tierIds.includes(tierId) && !excluded.includes(driver.id);
    const { radiusMeters } = this.#tiers.get(tierId) as Tier;
    return mayWork && this.carried(driver.id).length === 0 && this.#away(driver) <= radiusMeters;
  }

  #change(order: ModelOrder, to: OrderStatus, event: string): void {
    order.status = to;
    order.events.push(event);
  }

  #endUndelivered(order: ModelOrder, to: 'cancelled' | 'expired'): void {
    const store = this.#storeOf(order);
    const wasHeld = this.holdOf(store) !== null;
    this.#change(order, to, to);
    order.money.end();
    // It may have been one that the store owed.
    this.hasLetGo ||= wasHeld && this.holdOf(store) === null;
  }
}
