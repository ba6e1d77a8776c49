import type { Scheduler } from 'fast-check';
import { followChanges } from '../../src/app/change-feed.ts';
import { Closers } from '../../src/app/closers.ts';
import type { Dispatch } from '../../src/app/dispatch.ts';
import { createCancelOrder } from '../../src/dispatch/cancel-order.ts';
import { createDriverActions, type DriverAction } from '../../src/dispatch/driver-actions.ts';
import { Fleet } from '../../src/dispatch/fleet.ts';
import type { CommitOutcome } from '../../src/dispatch/group-commit.ts';
import { createPlaceOrder } from '../../src/dispatch/place-order.ts';
import { createReportPosition } from '../../src/dispatch/positions.ts';
import { createRedispatch } from '../../src/dispatch/redispatch.ts';
import { UnknownOutcomes } from '../../src/dispatch/unknown-outcomes.ts';
import type { OrderStatus, PlaceOrder } from '../../src/domain/order.ts';
import { radiusAfter, type Tier, type TierId } from '../../src/domain/tier.ts';
import { distanceMeters, type Point } from '../../src/geo/point.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import type { ChangedOrder } from '../../src/store/changes.ts';
import type { NewOrder } from '../../src/store/orders-create.ts';
import { createLogger } from '../../src/telemetry.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from '../matcher/brute-force.ts';

export const STORE: Point = { lat: 40.73, lng: -73.99 };
/** Beyond the greatest radius of the tiers that are used here. */
export const FAR: Point = displaced(STORE, 60_000, 0);

type Order = {
  readonly id: string;
  readonly tierId: TierId;
  readonly point: Point;
  readonly sinceMs: number;
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
/** What becomes of the commit of an order that is placed. */
export type Fate = 'taken' | 'refused' | 'unknown_and_late' | 'unknown_and_lost';

const ACTIVE: readonly OrderStatus[] = ['driver_assigned', 'picked_up', 'undeliverable'];
const logger = createLogger('silent');
const REQUEST: Omit<PlaceOrder, 'tierId'> = {
  retailerId: 'store',
  customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550100', smsOptIn: false },
  pickupAddress: 'One Test Square',
  dropoffAddress: { line1: '1 First St', line2: null, city: 'New York', state: 'NY', zip: '10001' },
};

/** How a step comes to happen: at once, or whenever the scheduler of a test says so. */
export type Turn = (what: string) => Promise<void>;

/**
 * The tables as far as dispatch reads and writes them: every statement is one step that happens at some time after it was
 * sent, and its answer comes at some time after that. Commits send notices, which arrive in any order.
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

  notify(origin: string, kind: 'order' | 'driver', id: string): void {
    if (this.swallowsNotices) return;
    for (const { hear } of this.listeners) {
      void this.turn(`notice ${kind} ${id}`).then(() => hear(`${origin}:${kind}:${id}`));
    }
  }

  carried(driverId: string): Order | undefined {
    return [...this.orders.values()].find((order) => order.driverId === driverId && ACTIVE.includes(order.status));
  }

  isFree(driverId: string): boolean {
    return this.drivers.get(driverId)?.onDuty === true && this.carried(driverId) === undefined;
  }

  /** Changes an order where it is in the status and, if so asked, this driver's; with its notice. */
  change(
    origin: string,
    orderId: string,
    from: readonly OrderStatus[],
    driverId: string | null,
    make: (order: Order) => void,
  ): ChangedOrder | null {
    const order = this.orders.get(orderId);
    if (!order || !from.includes(order.status) || (driverId !== null && order.driverId !== driverId)) return null;
    make(order);
    order.sequence++;
    this.notify(origin, 'order', orderId);
    return { id: orderId, sequence: order.sequence, status: order.status, driverId: order.driverId, outbox: [] };
  }

  assign(origin: string, orderId: string, driverId: string): 'assigned' | 'driver_lost' | 'order_gone' {
    const order = this.orders.get(orderId);
    if (order?.status !== 'pending_dispatch') return 'order_gone';
    if (!this.isFree(driverId) || order.excluded.includes(driverId)) return 'driver_lost';
    this.change(origin, orderId, ['pending_dispatch'], null, (changed) => {
      changed.status = 'driver_assigned';
      changed.driverId = driverId;
    });
    return 'assigned';
  }

  cancel(origin: string, orderId: string): ChangedOrder | null {
    return this.change(origin, orderId, ['pending_dispatch', 'driver_assigned'], null, (order) => {
      order.status = 'cancelled';
    });
  }

  expire(origin: string, orderId: string): ChangedOrder | null {
    return this.change(origin, orderId, ['pending_dispatch'], null, (order) => {
      order.status = 'expired';
    });
  }

  release(origin: string, orderId: string, driverId: string): ChangedOrder | null {
    return this.change(origin, orderId, ['driver_assigned'], driverId, (order) => {
      order.status = 'pending_dispatch';
      order.driverId = null;
      order.excluded = [...order.excluded, driverId];
    });
  }

  /** A delivery, whether the pickup was told of or not. */
  deliver(origin: string, orderId: string): ChangedOrder | null {
    return this.change(origin, orderId, ['driver_assigned', 'picked_up'], null, (order) => {
      order.status = 'delivered';
    });
  }

  setDuty(origin: string, driverId: string, onDuty: boolean): { onDuty: boolean } {
    (this.drivers.get(driverId) as Driver).onDuty = onDuty;
    this.notify(origin, 'driver', driverId);
    return { onDuty };
  }

  waitingRow(orderId: string) {
    const { id, tierId, point, sinceMs, excluded } = this.orders.get(orderId) as Order;
    const base = { orderId: id, retailerId: 'store', tierId, point, sinceMs };
    return excluded.length > 0 ? { ...base, excludedDriverIds: new Set(excluded) } : base;
  }

  fleetRow({ id, tierIds, onDuty, freeSinceMs, position }: Driver) {
    return { id, tierIds, onDuty, freeSinceMs, position, orderId: this.carried(id)?.id ?? null };
  }

  waiting(): Order[] {
    return [...this.orders.values()].filter(({ status }) => status === 'pending_dispatch');
  }

  /** Pairs of a waiting order and a free driver in its reach: what must not be left when everything has settled. */
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

/** A driver on duty who serves every tier, unless told otherwise. */
export function addDriver(tables: Tables, driver: Pick<Driver, 'id' | 'position'> & Partial<Driver>): void {
  const tierIds: TierId[] = ['standard', 'priority'];
  tables.drivers.set(driver.id, { tierIds, onDuty: true, freeSinceMs: tables.now(), ...driver });
}

/** A waiting order that nobody is told of. */
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

export type Process = Awaited<ReturnType<typeof startProcess>>;

/** The dispatch of one API process on these tables: everything real but the statements. */
export async function startProcess(tables: Tables, origin: string) {
  const { now } = tables;
  const matcher = new Matcher(TIERS);
  const run = <T>(what: string, effect: () => T) => tables.run(`${origin}: ${what}`, effect);
  const rows = <T>(ids: readonly string[] | undefined, all: ReadonlyMap<string, T>): T[] =>
    (ids ?? [...all.keys()]).flatMap((id) => all.get(id) ?? []);
  const fleet = new Fleet(
    matcher,
    {
      loadFleet: (ids) =>
        run(`fleet ${ids ?? ''}`, () => rows(ids, tables.drivers).map((driver) => tables.fleetRow(driver))),
      loadWaiting: () => run('waiting', () => tables.waiting().map(({ id }) => tables.waitingRow(id))),
      loadOrderStates: (ids) =>
        run(`news ${ids}`, () =>
          rows(ids, tables.orders).map((order) => ({
            orderId: order.id,
            status: order.status,
            driverId: order.driverId,
            waiting: order.status === 'pending_dispatch' ? tables.waitingRow(order.id) : null,
          })),
        ),
      findMatchable: () =>
        run('what there is to match', () => ({
          orderIds: tables.waiting().map(({ id }) => id),
          driverIds: [...tables.drivers.keys()].filter((id) => tables.isFree(id)),
          nextAfter: '',
        })),
    },
    (driverId) => driverAvailable(driverId),
  );
  const unknownOutcomes = new UnknownOutcomes(60_000, 1_000, now);
  const errors: unknown[] = [];
  const quietly = (work: Promise<unknown>) => void work.catch((error) => errors.push(error));
  const touched = (driverId: string) => fleet.touched(driverId);
  const redispatch = createRedispatch({
    matcher,
    now,
    assignWaiting: (orderId, { driverId }) =>
      run(`assign ${orderId} to ${driverId}`, () => {
        const kind = tables.assign(origin, orderId, driverId);
        return kind === 'assigned' ? { kind, outbox: [] } : { kind };
      }),
    expireOrder: (orderId) => run(`expire ${orderId}`, () => tables.expire(origin, orderId)),
    findOverdue: (limit) => run('overdue orders', () => tables.overdue.slice(0, limit)),
    findSilent: () => run('silent drivers', () => [...tables.silent]),
    releaseFromSilent: (orderId, driverId) =>
      run(`release from ${driverId}`, () => tables.release(origin, orderId, driverId)),
    catchUp: () => fleet.catchUp(now),
    refreshDrivers: (ids) => fleet.refreshDrivers(ids),
    refreshOrders: (ids) => fleet.refreshOrders(ids),
    touched,
    relay: () => undefined,
    assigned: (_orderId, driverId) => touched(driverId),
    orderChanged: () => undefined,
    logger,
  });
  const driverAvailable = (driverId: string) => quietly(redispatch.driverAvailable(driverId));
  const change = (what: string, { orderId, driverId }: DriverAction, from: OrderStatus, make: (order: Order) => void) =>
    run(`${what} ${orderId}`, () => tables.change(origin, orderId, [from], driverId, make));
  const actions = createDriverActions({
    matcher,
    now,
    store: {
      setDuty: (driverId, onDuty) =>
        run(`duty of ${driverId} ${onDuty}`, () => tables.setDuty(origin, driverId, onDuty)),
      pickUp: (action) =>
        change('pick up', action, 'driver_assigned', (order) => {
          order.status = 'picked_up';
        }),
      deliver: (action) =>
        change('deliver', action, 'picked_up', (order) => {
          order.status = 'delivered';
        }),
      release: ({ orderId, driverId }) => run(`release ${orderId}`, () => tables.release(origin, orderId, driverId)),
      undeliverable: async () => null,
      returned: async () => null,
      findState: (orderId) =>
        run(`state of ${orderId}`, () => {
          const { status, driverId } = tables.orders.get(orderId) as Order;
          return { status, driverId };
        }),
      findAction: async () => null,
    },
    touched,
    changed: () => undefined,
    dutyChanged: () => undefined,
    driverAvailable,
    relay: () => undefined,
    waitsAgain: (orderId) => quietly(redispatch.waitsAgain(orderId)),
  });
  const positions = createReportPosition({
    matcher,
    now,
    writeBehind({ driverId, lat, lng, atMs }) {
      const driver = tables.drivers.get(driverId) as Driver;
      void tables.turn(`position of ${driverId} is written`).then(() => {
        if (driver.position.atMs < atMs) driver.position = { lat, lng, atMs };
      });
    },
    share(position) {
      for (const other of others) {
        void tables.turn(`position of ${position.driverId}`).then(() => other.receive(position));
      }
    },
    moved: () => undefined,
    driverAvailable,
  });
  const others: { receive(position: Parameters<typeof positions.receive>[0]): void }[] = [];
  const cancelOrder = createCancelOrder({
    matcher,
    now,
    cancel: (orderId) => run(`cancel ${orderId}`, () => tables.cancel(origin, orderId)),
    findState: async (orderId) => tables.orders.get(orderId)?.status ?? null,
    findCancelledBy: async () => null,
    touched,
    relay: () => undefined,
    changed: () => undefined,
    driverAvailable,
  });
  const placeOrder = createPlaceOrder({
    tiers: () => TIERS,
    matcher,
    now,
    locate: async () => ({ point: STORE, source: 'registered' }),
    dropoffOf: () => null,
    groupCommit: { commit },
    waitingRoom: { enter: () => true, leave: () => undefined },
    relay: () => undefined,
    refreshDriver: (driverId) =>
      quietly(fleet.refreshDrivers([driverId]).then(() => redispatch.driverAvailable(driverId))),
    driverAvailable,
    assigned: (_orderId, driverId) => touched(driverId),
    waits: (orderId) => quietly(redispatch.orderWaits(orderId)),
    unknownOutcomes: (orderId) => unknownOutcomes.add(orderId),
    paymentWithin: async () => 'processing',
  });
  const dedup = new Map<PlaceOrder, Fate>();
  async function commit(order: NewOrder): Promise<CommitOutcome> {
    const fate = dedup.get(order.request);
    const what = `commit of ${order.id}`;
    if (fate === 'taken') return run(what, () => insert(order));
    if (fate === 'refused') return run(what, () => ({ kind: 'failed' }));
    if (fate === 'unknown_and_late') void run(`late ${what}`, () => insert(order));
    return run(`${what} (unknown)`, () => ({ kind: 'unknown' }));
  }
  function insert(order: NewOrder) {
    const driverId = order.driver?.driverId ?? null;
    if (driverId !== null && !tables.isFree(driverId)) return { kind: 'driver_lost' as const };
    const sinceMs = now();
    const status = driverId === null ? 'pending_dispatch' : 'driver_assigned';
    tables.orders.set(order.id, {
      id: order.id,
      tierId: order.tier.id,
      point: order.pickup,
      sinceMs,
      status,
      driverId,
      excluded: [],
      sequence: 1,
    });
    tables.notify(origin, 'order', order.id);
    return {
      kind: 'created' as const,
      order: { id: order.id, createdAt: new Date(sinceMs), expiresAt: new Date(sinceMs), outbox: [] },
    };
  }

  const closers = new Closers(logger);
  let deaf = false;
  let listenAgain: () => void = () => undefined;
  const sql = {
    async listen(_channel: string, hear: Listener, listening: () => void) {
      tables.listeners.push({ hear: (payload) => deaf || hear(payload) });
      listenAgain = () => {
        deaf = false;
        listening();
      };
      listening();
      return { unlisten: async () => undefined };
    },
  } as unknown as Sql;
  const dispatch = { fleet, unknownOutcomes, redispatch, driverAvailable } as unknown as Dispatch;
  const announce = {
    orderChanged: () => undefined,
    driverChanged: () => undefined,
    driverMoved: () => undefined,
    sharePosition: () => undefined,
  };
  await followChanges(
    {
      sql,
      origin,
      dispatch,
      announce,
      reloadTiers: async () => undefined,
      paymentsMayBeSettled: async () => undefined,
      everythingChanged: () => undefined,
    },
    logger,
    closers,
  );
  // The start sweeps; whatever a test does is to be found without.
  await redispatch.sweep();
  const key = { keyId: 'key', retailerId: 'store' } as never;
  return {
    origin,
    matcher,
    fleet,
    redispatch,
    actions,
    positions,
    cancelOrder,
    errors,
    /** Positions go to this one too. */
    tell: (other: { positions: { receive(position: never): void } }) =>
      void others.push({ receive: (position) => other.positions.receive(position as never) }),
    place(tierId: TierId = 'standard', fate: Fate = 'taken') {
      const request: PlaceOrder = { ...REQUEST, tierId };
      dedup.set(request, fate);
      return placeOrder(request, key, null, { sinceMs: performance.now(), signal: { aborted: false } });
    },
    /** The connection that listens is lost: no notice comes until there is another one. */
    async loseLine() {
      deaf = true;
      await tables.turn(`${origin} listens again`);
      listenAgain();
    },
    close: () => closers.closeAll(),
  };
}

/** Steps that the scheduler brings into an order of its own. */
export function turnsOf(scheduler: Scheduler): Turn {
  return (what) => scheduler.schedule(Promise.resolve(), what);
}
