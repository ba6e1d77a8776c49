import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FleetDriver } from '../domain/driver.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import { MAX_FEED_BATCH, MAX_WAITING_ORDERS, POSITION_FRESH_MS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { OrderState } from '../store/orders/waiting.ts';
import type { Store } from '../store/store.ts';
import type { OrderEvents } from './order-events.ts';

/** Ids that a sweep compares with the tables before it yields the event loop; about 2 ms. */
const CATCH_UP_SLICE = 5_000;

/** The statements that the matcher is filled from. */
export type FleetSource = Pick<Store, 'loadFleet' | 'loadWaiting' | 'loadOrderStates' | 'findMatchable'>;

/**
 * Keeps the matcher, a view in memory, in step with Postgres.
 *
 * The matcher changes while a read is in flight. A row is out of date if this process changed it during the
 * read, or if a read that began later has been applied; such a row is not applied. Drivers whom this process
 * changed are marked with {@link Fleet.markStale} and read again.
 */
export class Fleet {
  readonly #matcher: Matcher;
  readonly #source: FleetSource;
  readonly #events: Pick<OrderEvents, 'driverFreed'>;
  /** By driver, the number of the last mark. Marks and reads are numbered by one counter. */
  readonly #staleAt = new Map<string, number>();
  /** By driver or order, the number of the last read that was applied. */
  readonly #readAt = new Map<string, number>();
  #count = 0;
  /** The last driver that `catchUp` has looked at; undefined before the first call. */
  #lookAfter: string | undefined;
  #reads = 0;

  /** @param events told of drivers whom a read has freed; a notice of their order would find no holder */
  constructor(matcher: Matcher, source: FleetSource, events: Pick<OrderEvents, 'driverFreed'>) {
    this.#matcher = matcher;
    this.#source = source;
    this.#events = events;
  }

  /** Marks a driver whom this process has changed in the matcher after a commit. */
  markStale(driverId: string): void {
    if (this.#reads > 0) this.#staleAt.set(driverId, ++this.#count);
  }

  /** The driver who holds an order in memory. */
  holderOf(orderId: string): string | undefined {
    return this.#matcher.holderOf(orderId);
  }

  /** Reads everything again: at start, and after notices may have been missed. */
  async rebuild(): Promise<void> {
    const stale = await this.#read(async (begunAt) => {
      // What came into memory during the read is missing from its result without being gone.
      const driversBefore = [...this.#matcher.driverIds()];
      const ordersBefore = this.#rememberedOrders();
      const [drivers, waiting] = await Promise.all([
        this.#source.loadFleet(),
        this.#source.loadWaiting(MAX_WAITING_ORDERS),
      ]);
      const displaced = this.#applyDrivers(driversBefore, drivers, begunAt);
      this.#applyOrders(ordersBefore, waiting, begunAt);
      const changed = drivers.filter(({ id }) => this.#isStale(id, begunAt));
      return [...displaced, ...changed.map(({ id }) => id)];
    });
    await this.refreshDrivers(stale);
  }

  /**
   * Reads again the orders that wait only in the tables or only in memory, and the drivers who are available
   * only in the tables (of a large fleet one part each time). This makes up for lost notices and failed
   * reads, and is cheap if there are none.
   */
  async catchUp(clock: Clock): Promise<void> {
    const matcher = this.#matcher;
    const { orderIds, driverIds, nextAfter } = await this.#source.findMatchable(
      MAX_WAITING_ORDERS,
      POSITION_FRESH_MS,
      this.#lookAfter,
    );
    this.#lookAfter = nextAfter;
    const orders = await filterInTurns(orderIds, (id) => !matcher.isWaiting(id) && !matcher.isLater(id));
    if (matcher.waitingCount() + matcher.laterCount() > orderIds.length - orders.length) {
      const waiting = new Set(orderIds);
      orders.push(...(await filterInTurns(this.#rememberedOrders(), (id) => !waiting.has(id))));
    }
    const drivers = await filterInTurns(driverIds, (id) => !matcher.isAvailable(id, clock.now()));
    for (const ids of slices(orders, MAX_FEED_BATCH)) await this.refreshOrders(ids);
    for (const ids of slices(drivers, MAX_FEED_BATCH)) await this.refreshDrivers(ids);
  }

  /** Reads drivers again; one who is no longer active leaves the matcher. */
  async refreshDrivers(ids: readonly string[]): Promise<void> {
    let stale = [...new Set(ids)];
    // An operation that marks a driver again has ended by then, so a few rounds are enough.
    for (let round = 0; stale.length > 0 && round < 5; round++) {
      const asked = stale;
      stale = await this.#read(async (begunAt) => {
        const displaced = this.#applyDrivers(asked, await this.#source.loadFleet(asked), begunAt);
        return [...displaced, ...asked.filter((id) => this.#isStale(id, begunAt))];
      });
    }
  }

  /** Reads orders again that another process has changed, and the drivers who hold or held them. */
  async refreshOrders(ids: readonly string[]): Promise<OrderState[]> {
    const states = await this.#read(async (begunAt) => {
      const found = await this.#source.loadOrderStates(ids);
      const waiting = found.flatMap((order) => order.waiting ?? []);
      this.#applyOrders(
        found.map(({ orderId }) => orderId),
        waiting,
        begunAt,
      );
      return found;
    });
    const holders = ids.map((id) => this.#matcher.holderOf(id));
    const drivers = [...states.map((order) => order.driverId), ...holders].filter((id) => id != null);
    if (drivers.length > 0) await this.refreshDrivers(drivers);
    return states;
  }

  /**
   * Applies the drivers of a read, and removes those that it asked for and did not find.
   *
   * @returns drivers to read again: those who hold in memory an order that another driver carries in the
   *   tables, as its notice would not find them; and those whose order was read later, as this read was too
   *   early for it
   */
  #applyDrivers(asked: readonly string[], drivers: readonly FleetDriver[], begunAt: number): string[] {
    this.#removeMissing(asked, drivers, begunAt);
    const displaced: string[] = [];
    const freed: string[] = [];
    const newer = drivers.filter((driver) => {
      if (!this.#isNewer(driver.id, begunAt)) return false;
      const carried = driver.carried.map(({ orderId }) => orderId);
      if (carried.some((orderId) => this.#wasReadSince(orderId, begunAt))) {
        displaced.push(driver.id);
        return false;
      }
      const holders = carried.map((orderId) => this.#matcher.holderOf(orderId));
      for (const id of holders) if (id !== undefined && id !== driver.id) displaced.push(id);
      const held = this.#matcher.carriedBy(driver.id);
      if (held.some(({ orderId }) => !carried.includes(orderId))) freed.push(driver.id);
      return true;
    });
    this.#matcher.putDrivers(newer);
    for (const driverId of freed) this.#events.driverFreed(driverId);
    return displaced;
  }

  #removeMissing(asked: readonly string[], drivers: readonly FleetDriver[], begunAt: number): void {
    // At start memory is empty, and a set of a million ids would take half a second.
    if (asked.length === 0) return;
    const found = new Set(drivers.map((driver) => driver.id));
    for (const id of asked) if (!found.has(id) && this.#isNewer(id, begunAt)) this.#matcher.removeDriver(id);
  }

  #applyOrders(asked: readonly string[], waiting: readonly WaitingOrder[], begunAt: number): void {
    const found = new Set(waiting.map((order) => order.orderId));
    for (const id of asked) if (!found.has(id) && this.#isNewer(id, begunAt)) this.#matcher.unwait(id);
    for (const order of waiting) if (this.#isNewer(order.orderId, begunAt)) this.#matcher.wait(order);
  }

  /** The orders that wait in memory, for a driver or for their time. */
  #rememberedOrders(): string[] {
    return [...Array.from(this.#matcher.waitingOrders(), ({ orderId }) => orderId), ...this.#matcher.laterIds()];
  }

  #isStale(driverId: string, begunAt: number): boolean {
    return (this.#staleAt.get(driverId) ?? 0) > begunAt;
  }

  #wasReadSince(id: string, begunAt: number): boolean {
    return (this.#readAt.get(id) ?? 0) > begunAt;
  }

  /** Whether a row of a read is newer than memory; if so, the row counts as applied. */
  #isNewer(id: string, begunAt: number): boolean {
    if (this.#wasReadSince(id, begunAt) || this.#isStale(id, begunAt)) return false;
    // Only a concurrent read can have older rows.
    if (this.#reads > 1) this.#readAt.set(id, begunAt);
    return true;
  }

  async #read<T>(work: (begunAt: number) => Promise<T>): Promise<T> {
    this.#reads++;
    try {
      return await work(++this.#count);
    } finally {
      this.#reads--;
      if (this.#reads === 0) {
        this.#staleAt.clear();
        this.#readAt.clear();
      }
    }
  }
}

/** Filters a long list in slices, so that it does not block the event loop. */
async function filterInTurns(ids: readonly string[], accepts: (id: string) => boolean): Promise<string[]> {
  const accepted: string[] = [];
  for (const slice of slices(ids, CATCH_UP_SLICE)) {
    accepted.push(...slice.filter(accepts));
    await nextTurn();
  }
  return accepted;
}

function* slices(ids: readonly string[], size: number): Iterable<readonly string[]> {
  for (let at = 0; at < ids.length; at += size) yield ids.slice(at, at + size);
}
