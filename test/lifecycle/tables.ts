import type { Scheduler } from 'fast-check';
import type { CommitOutcome } from '../../src/dispatch/commit-batch.ts';
import { ACTIVE_STATUSES, type OrderStatus } from '../../src/domain/order.ts';
import { radiusAfter, type Tier, type TierId } from '../../src/domain/tier.ts';
import { distanceMeters, type Point } from '../../src/geo/point.ts';
import type { ChangedOrder } from '../../src/store/orders/changes.ts';
import type { NewOrder } from '../../src/store/orders/orders-create.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { carrying } from '../matcher/carrying.ts';

export const STORE: Point = { lat: 40.73, lng: -73.99 };
/** A point beyond the largest radius of the tiers in use here. */
export const FAR: Point = displaced(STORE, 60_000, 0);

type Order = {
  readonly id: string;
  readonly tierId: TierId;
  readonly point: Point;
  readonly sinceMs: number;
  fairStartMs?: number | undefined;
  status: OrderStatus;
  driverId: string | null;
  excluded: string[];
  sequence: number;
};
type Driver = {
  readonly id: string;
  readonly tierIds: readonly TierId[];
  onDuty: boolean;
  freeSinceMs: number;
  position: Point & { atMs: number };
};
type Listener = (payload: string) => void;

const ACTIVE: readonly OrderStatus[] = ACTIVE_STATUSES;

/** Resolves when a step may happen: at once, or when a test's scheduler says so. */
type Turn = (what: string) => Promise<void>;

/**
 * The tables that dispatch reads and writes. A statement is one step at some time after it was sent, and its
 * reply arrives at some time after that. Commits send notices, which arrive in any order.
 */
export class Tables {
  readonly orders = new Map<string, Order>();
  readonly drivers = new Map<string, Driver>();
  readonly listeners: { readonly hear: Listener }[] = [];
  turn: Turn = async () => undefined;
  swallowsNotices = false;
  overdue: readonly string[] = [];
  silent: readonly { readonly orderId: string; readonly driverId: string }[] = [];
  #ms = 1_700_000_000_000;

  now = (): number => ++this.#ms;
  pass(ms: number): void {
    this.#ms += ms;
  }

  /** One statement. */
  async run<T>(what: string, effect: () => T): Promise<T> {
    await this.turn(`${what} is carried out`);
    const result = effect();
    await this.turn(`${what} is answered`);
    return result;
  }

  notify(processId: string, kind: 'order' | 'driver', id: string): void {
    if (this.swallowsNotices) return;
    for (const { hear } of this.listeners) {
      void this.turn(`notice ${kind} ${id}`).then(() => hear(`${processId}:${kind}:${id}`));
    }
  }

  carried(driverId: string): Order | undefined {
    for (const order of this.orders.values()) {
      if (order.driverId === driverId && ACTIVE.includes(order.status)) return order;
    }
    return undefined;
  }

  isFree(driverId: string): boolean {
    return this.drivers.get(driverId)?.onDuty === true && this.carried(driverId) === undefined;
  }

  /** Commits an order, if its driver is free. */
  insert(processId: string, { id, tier, pickup, driver, fairStartMs }: NewOrder): CommitOutcome {
    const driverId = driver?.driverId ?? null;
    if (driverId !== null && !this.isFree(driverId)) return { kind: 'driver_lost' };
    const sinceMs = this.now();
    const status = driverId === null ? 'pending_dispatch' : 'driver_assigned';
    const order = { id, tierId: tier.id, point: pickup, sinceMs, fairStartMs, status, driverId } as const;
    this.orders.set(id, { ...order, excluded: [], sequence: 1 });
    this.notify(processId, 'order', id);
    return {
      kind: 'created',
      order: {
        id,
        createdAt: new Date(sinceMs),
        expiresAt: new Date(sinceMs),
        deliverBy: new Date(sinceMs),
        outbox: [],
      },
    };
  }

  /** Changes an order that is in one of the statuses and, unless null, the driver's; sends its notice. */
  change(
    processId: string,
    orderId: string,
    from: readonly OrderStatus[],
    driverId: string | null,
    make: (order: Order) => void,
  ): ChangedOrder | null {
    const order = this.orders.get(orderId);
    if (!order || !from.includes(order.status) || (driverId !== null && order.driverId !== driverId)) return null;
    make(order);
    order.sequence++;
    this.notify(processId, 'order', orderId);
    return { id: orderId, sequence: order.sequence, status: order.status, driverId: order.driverId, outbox: [] };
  }

  assign(processId: string, orderId: string, driverId: string): 'assigned' | 'driver_lost' | 'order_gone' {
    const order = this.orders.get(orderId);
    if (order?.status !== 'pending_dispatch') return 'order_gone';
    if (!this.isFree(driverId) || order.excluded.includes(driverId)) return 'driver_lost';
    this.change(processId, orderId, ['pending_dispatch'], null, (changed) => {
      changed.status = 'driver_assigned';
      changed.driverId = driverId;
    });
    return 'assigned';
  }

  cancel(processId: string, orderId: string): ChangedOrder | null {
    return this.change(processId, orderId, ['pending_dispatch', 'driver_assigned'], null, (order) => {
      order.status = 'cancelled';
    });
  }

  expire(processId: string, orderId: string): ChangedOrder | null {
    return this.change(processId, orderId, ['pending_dispatch'], null, (order) => {
      order.status = 'expired';
    });
  }

  release(processId: string, orderId: string, driverId: string): ChangedOrder | null {
    return this.change(processId, orderId, ['driver_assigned'], driverId, (order) => {
      order.status = 'pending_dispatch';
      order.driverId = null;
      order.fairStartMs = undefined;
      order.excluded = [...order.excluded, driverId];
    });
  }

  pickUp(processId: string, orderId: string, driverId: string): ChangedOrder | null {
    return this.change(processId, orderId, ['driver_assigned'], driverId, (order) => {
      order.status = 'picked_up';
    });
  }

  deliver(processId: string, orderId: string, driverId: string): ChangedOrder | null {
    return this.change(processId, orderId, ['picked_up'], driverId, (order) => {
      order.status = 'delivered';
    });
  }

  /** Delivers an order, whichever driver carries it, with or without a recorded pickup. */
  finish(processId: string, orderId: string): ChangedOrder | null {
    return this.change(processId, orderId, ['driver_assigned', 'picked_up'], null, (order) => {
      order.status = 'delivered';
    });
  }

  setDuty(processId: string, driverId: string, onDuty: boolean): { onDuty: boolean } {
    (this.drivers.get(driverId) as Driver).onDuty = onDuty;
    this.notify(processId, 'driver', driverId);
    return { onDuty };
  }

  waitingRow(orderId: string) {
    const { id, tierId, point, sinceMs, fairStartMs, excluded } = this.orders.get(orderId) as Order;
    const waits = { orderId: id, retailerId: 'store', tierId, point, sinceMs };
    const base = fairStartMs === undefined ? waits : { ...waits, fairStartMs };
    return excluded.length > 0 ? { ...base, excludedDriverIds: new Set(excluded) } : base;
  }

  stateRow({ id, status, driverId }: Order) {
    return { orderId: id, status, driverId, waiting: status === 'pending_dispatch' ? this.waitingRow(id) : null };
  }

  fleetRow({ id, tierIds, onDuty, freeSinceMs, position }: Driver) {
    const order = this.carried(id);
    return { id, tierIds, onDuty, freeSinceMs, position, carried: order ? [carrying(order.id)] : [] };
  }

  waiting(): Order[] {
    return [...this.orders.values()].filter(({ status }) => status === 'pending_dispatch');
  }

  /**
   * Pairs of a waiting order and a free driver in its reach. None may be left when no work is in progress.
   */
  leftOver(): string[] {
    const nowMs = this.now();
    return this.waiting().flatMap((order) =>
      [...this.drivers.values()]
        .filter(({ id, tierIds, position }) => {
          const reach = radiusAfter(TIERS.get(order.tierId) as Tier, nowMs - order.sinceMs);
          if (distanceMeters(order.point, position) > reach || !tierIds.includes(order.tierId)) return false;
          return this.isFree(id) && !order.excluded.includes(id);
        })
        .map(({ id }) => `${order.id} waits beside ${id}`),
    );
  }
}

/** Adds a driver, by default on duty and qualified for every tier. */
export function addDriver(tables: Tables, driver: Pick<Driver, 'id' | 'position'> & Partial<Driver>): void {
  const tierIds: TierId[] = ['standard', 'priority'];
  tables.drivers.set(driver.id, { tierIds, onDuty: true, freeSinceMs: tables.now(), ...driver });
}

/** Adds a waiting order without a notice. */
export function addOrder(tables: Tables, id: string, waitedMs = 0, point = STORE): void {
  tables.orders.set(id, {
    id,
    tierId: 'standard',
    point,
    sinceMs: tables.now() - waitedMs,
    status: 'pending_dispatch',
    driverId: null,
    excluded: [],
    sequence: 1,
  });
}

/** Steps in an order of the scheduler's choice. */
export function turnsOf(scheduler: Scheduler): Turn {
  return (what) => scheduler.schedule(Promise.resolve(), what);
}
