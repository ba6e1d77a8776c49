import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FleetDriver } from '../domain/driver.ts';
import { CATCH_UP_SLICE, MAX_FEED_BATCH, MAX_WAITING_ORDERS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Matchable, OrderState, WaitingRow } from '../store/waiting.ts';

/** What the fleet is rebuilt from. */
export type FleetSource = {
  loadFleet(ids?: readonly string[]): Promise<FleetDriver[]>;
  loadWaiting(limit: number): Promise<WaitingRow[]>;
  loadOrderStates(ids: readonly string[]): Promise<OrderState[]>;
  findMatchable(limit: number, afterDriver?: string): Promise<Matchable>;
};

/**
 * Keeps the matcher, which is only a view, in step with Postgres.
 *
 * A read takes time, and the matcher moves on meanwhile: what this process changed itself during a read, and what a read
 * that began later has brought, is newer than the row that comes back. Such a row is not applied. Drivers whom this
 * process changed are marked with {@link Fleet.touched} and read once more.
 */
export class Fleet {
  readonly #matcher: Matcher;
  readonly #source: FleetSource;
  readonly #freed: (driverId: string) => void;
  /** Reads and touches are counted through. By driver, the count of the last touch; by driver or order, of the last read. */
  readonly #touchedAt = new Map<string, number>();
  readonly #readAt = new Map<string, number>();
  #count = 0;
  /** The last driver that `catchUp` looked at; undefined for none yet. */
  #lookAfter: string | undefined;
  #reads = 0;

  /**
   * @param freed a reading says that a driver carries nothing any more. Whoever the news of his order reaches after that
   *   finds no holder to wake
   */
  constructor(matcher: Matcher, source: FleetSource, freed: (driverId: string) => void) {
    this.#matcher = matcher;
    this.#source = source;
    this.#freed = freed;
  }

  /** Says that this process just changed a driver in the matcher, after the database took the change. */
  touched(driverId: string): void {
    if (this.#reads > 0) this.#touchedAt.set(driverId, ++this.#count);
  }

  /** The driver who holds an order, as far as this process knows. */
  holderOf(orderId: string): string | undefined {
    return this.#matcher.holderOf(orderId);
  }

  /** Reads everything again: at start, and whenever notices may have been missed. */
  async rebuild(): Promise<void> {
    const stale = await this.#read(async (begunAt) => {
      // What came into memory during the read is not in what was read; only what was there before can be gone.
      const driversBefore = [...this.#matcher.driverIds()];
      const ordersBefore = Array.from(this.#matcher.waitingOrders(), (order) => order.orderId);
      const [drivers, waiting] = await Promise.all([
        this.#source.loadFleet(),
        this.#source.loadWaiting(MAX_WAITING_ORDERS),
      ]);
      const displaced = this.#applyDrivers(driversBefore, drivers, begunAt);
      this.#applyOrders(ordersBefore, waiting, begunAt);
      const touched = drivers.filter(({ id }) => this.#wasTouched(id, begunAt));
      return [...displaced, ...touched.map(({ id }) => id)];
    });
    await this.refreshDrivers(stale);
  }

  /**
   * Reads again which orders wait in the tables or in memory alone, and which drivers could be given one by the tables
   * alone (of a large fleet a part each time): the net below notices that did not come and readings that failed. Cheap
   * where nothing was missed.
   */
  async catchUp(nowMs: () => number): Promise<void> {
    const matcher = this.#matcher;
    const { orderIds, driverIds, nextAfter } = await this.#source.findMatchable(MAX_WAITING_ORDERS, this.#lookAfter);
    this.#lookAfter = nextAfter;
    const orders = await filterInTurns(orderIds, (id) => !matcher.isWaiting(id));
    if (matcher.waitingCount() > orderIds.length - orders.length) {
      const waiting = new Set(orderIds);
      const remembered = Array.from(matcher.waitingOrders(), ({ orderId }) => orderId);
      orders.push(...(await filterInTurns(remembered, (id) => !waiting.has(id))));
    }
    const drivers = await filterInTurns(driverIds, (id) => !matcher.isAvailable(id, nowMs()));
    for (const ids of slices(orders, MAX_FEED_BATCH)) await this.refreshOrders(ids);
    for (const ids of slices(drivers, MAX_FEED_BATCH)) await this.refreshDrivers(ids);
  }

  /** Reads these drivers again; one that is gone leaves the matcher. */
  async refreshDrivers(ids: readonly string[]): Promise<void> {
    let stale = [...new Set(ids)];
    // A driver can be touched again and again, but each time by an operation that ended; a few rounds are enough.
    for (let round = 0; stale.length > 0 && round < 5; round++) {
      const asked = stale;
      stale = await this.#read(async (begunAt) => {
        const displaced = this.#applyDrivers(asked, await this.#source.loadFleet(asked), begunAt);
        return [...displaced, ...asked.filter((id) => this.#wasTouched(id, begunAt))];
      });
    }
  }

  /** Applies what another process did to these orders: those that wait now wait here too, their drivers are busy or free. */
  async refreshOrders(ids: readonly string[]): Promise<OrderState[]> {
    const news = await this.#read(async (begunAt) => {
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
    const drivers = [...news.map((order) => order.driverId), ...holders].filter((id) => id != null);
    if (drivers.length > 0) await this.refreshDrivers(drivers);
    return news;
  }

  /**
   * Puts the drivers that a read brought, and removes those it was to bring and did not.
   *
   * @returns drivers to be read again: others, who held in memory what one of these carries, since the news of that would
   *   not find them when it comes; and those whose order was read later, since what became of it came too early for them
   */
  #applyDrivers(asked: readonly string[], drivers: readonly FleetDriver[], begunAt: number): string[] {
    this.#removeMissing(asked, drivers, begunAt);
    const displaced: string[] = [];
    const freed: string[] = [];
    const news = drivers.filter((driver) => {
      if (!this.#isNewer(driver.id, begunAt)) return false;
      if (driver.orderId !== null && this.#wasReadSince(driver.orderId, begunAt)) {
        displaced.push(driver.id);
        return false;
      }
      const holder = driver.orderId === null ? undefined : this.#matcher.holderOf(driver.orderId);
      if (holder !== undefined && holder !== driver.id) displaced.push(holder);
      const held = this.#matcher.orderOf(driver.id);
      if (held !== null && driver.orderId === null) freed.push(driver.id);
      return true;
    });
    this.#matcher.putDrivers(news);
    for (const driverId of freed) this.#freed(driverId);
    return displaced;
  }

  #removeMissing(asked: readonly string[], drivers: readonly FleetDriver[], begunAt: number): void {
    // At start nobody is known who could be gone, and a set of a million ids takes half a second.
    if (asked.length === 0) return;
    const found = new Set(drivers.map((driver) => driver.id));
    for (const id of asked) if (!found.has(id) && this.#isNewer(id, begunAt)) this.#matcher.removeDriver(id);
  }

  #applyOrders(asked: readonly string[], waiting: readonly WaitingRow[], begunAt: number): void {
    const found = new Set(waiting.map((order) => order.orderId));
    for (const id of asked) if (!found.has(id) && this.#isNewer(id, begunAt)) this.#matcher.unwait(id);
    for (const order of waiting) if (this.#isNewer(order.orderId, begunAt)) this.#matcher.wait(order);
  }

  #wasTouched(driverId: string, begunAt: number): boolean {
    return (this.#touchedAt.get(driverId) ?? 0) > begunAt;
  }

  #wasReadSince(id: string, begunAt: number): boolean {
    return (this.#readAt.get(id) ?? 0) > begunAt;
  }

  /** Whether a read that began then knows better than what is in memory; from now on it is what is in memory. */
  #isNewer(id: string, begunAt: number): boolean {
    if (this.#wasReadSince(id, begunAt) || this.#wasTouched(id, begunAt)) return false;
    // Only a read that is under way beside this one could be older.
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
        this.#touchedAt.clear();
        this.#readAt.clear();
      }
    }
  }
}

/** Goes through a list that may be long, with other work in between. */
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
