import type { FleetDriver } from '../domain/driver.ts';
import { MAX_WAITING_ORDERS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { OrderNews, WaitingRow } from '../store/waiting.ts';

/** What the fleet is rebuilt from. */
export type FleetSource = {
  loadFleet(ids?: readonly string[]): Promise<FleetDriver[]>;
  loadWaiting(limit: number): Promise<WaitingRow[]>;
  loadOrderNews(ids: readonly string[]): Promise<OrderNews[]>;
};

/**
 * Keeps the matcher, which is only a view, in step with Postgres.
 *
 * A read takes time, and the matcher moves on meanwhile: what this process changed itself during a read is newer than
 * the row that comes back. Such drivers are marked with {@link Fleet.touched} and read once more.
 */
export class Fleet {
  readonly #matcher: Matcher;
  readonly #source: FleetSource;
  readonly #touchedDuringRead = new Set<string>();
  #reads = 0;

  constructor(matcher: Matcher, source: FleetSource) {
    this.#matcher = matcher;
    this.#source = source;
  }

  /** Says that this process just changed a driver in the matcher, after the database took the change. */
  touched(driverId: string): void {
    if (this.#reads > 0) this.#touchedDuringRead.add(driverId);
  }

  /** The driver who holds an order, as far as this process knows. */
  holderOf(orderId: string): string | undefined {
    return this.#matcher.holderOf(orderId);
  }

  /** Reads everything again: at start, and whenever notices may have been missed. */
  async rebuild(): Promise<void> {
    await this.#read(async () => {
      // What came into memory during the read is not in what was read; only what was there before can be gone.
      const driversBefore = [...this.#matcher.driverIds()];
      const ordersBefore = Array.from(this.#matcher.waitingOrders(), (order) => order.orderId);
      const [drivers, waiting] = await Promise.all([
        this.#source.loadFleet(),
        this.#source.loadWaiting(MAX_WAITING_ORDERS),
      ]);
      const known = new Set(drivers.map((driver) => driver.id));
      for (const id of driversBefore) if (!known.has(id)) this.#matcher.removeDriver(id);
      for (const driver of drivers) this.#put(driver);
      const stillWaiting = new Set(waiting.map((order) => order.orderId));
      for (const id of ordersBefore) if (!stillWaiting.has(id)) this.#matcher.unwait(id);
      for (const order of waiting) this.#matcher.wait(order);
    });
  }

  /** Reads these drivers again; one that is gone leaves the matcher. */
  async refreshDrivers(ids: readonly string[]): Promise<void> {
    let stale = [...new Set(ids)];
    // A driver can be touched again and again, but each time by an operation that ended; a few rounds are enough.
    for (let round = 0; stale.length > 0 && round < 5; round++) {
      const asked = stale;
      stale = await this.#read(async () => {
        const drivers = await this.#source.loadFleet(asked);
        const found = new Set(drivers.map((driver) => driver.id));
        for (const driver of drivers) this.#put(driver);
        for (const id of asked) if (!found.has(id)) this.#matcher.removeDriver(id);
        return asked.filter((id) => this.#touchedDuringRead.has(id));
      });
    }
  }

  /** Applies what another process did to these orders: those that wait now wait here too, their drivers are busy or free. */
  async refreshOrders(ids: readonly string[]): Promise<OrderNews[]> {
    const news = await this.#source.loadOrderNews(ids);
    for (const { orderId, waiting } of news) {
      if (waiting) this.#matcher.wait(waiting);
      else this.#matcher.unwait(orderId);
    }
    const holders = ids.map((id) => this.#matcher.holderOf(id));
    const drivers = [...news.map((order) => order.driverId), ...holders].filter((id) => id != null);
    if (drivers.length > 0) await this.refreshDrivers(drivers);
    return news;
  }

  #put(driver: FleetDriver): void {
    if (!this.#touchedDuringRead.has(driver.id)) this.#matcher.putDriver(driver);
  }

  async #read<T>(work: () => Promise<T>): Promise<T> {
    this.#reads++;
    try {
      return await work();
    } finally {
      this.#reads--;
      if (this.#reads === 0) this.#touchedDuringRead.clear();
    }
  }
}
