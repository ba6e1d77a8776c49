import type { ActionStore } from '../../src/dispatch/driver-actions.ts';
import type { FleetSource } from '../../src/dispatch/fleet.ts';
import type { Store } from '../../src/store/store.ts';
import { TIERS } from '../matcher/brute-force.ts';
import type { Tables } from './tables.ts';

/** The statements of dispatch without commits of new orders and writes of positions. */
type DispatchStore = FleetSource &
  ActionStore &
  Pick<
    Store,
    | 'loadTiers'
    | 'assignWaiting'
    | 'expireOrder'
    | 'expireSurplus'
    | 'findOverdue'
    | 'findSilent'
    | 'endDuties'
    | 'releaseFromSilent'
    | 'cancelOrder'
    | 'findCancelledBy'
    | 'findStoreOrder'
  >;

/** The statements of a process on simulated tables. */
export function storeOn(tables: Tables, processId: string): DispatchStore {
  const run = <T>(what: string, effect: () => T) => tables.run(`${processId}: ${what}`, effect);
  const rows = <T>(ids: readonly string[] | undefined, all: ReadonlyMap<string, T>): T[] =>
    (ids ?? [...all.keys()]).flatMap((id) => all.get(id) ?? []);
  return {
    loadTiers: async () => TIERS,
    loadFleet: (ids) =>
      run(`fleet ${ids ?? ''}`, () => rows(ids, tables.drivers).map((driver) => tables.fleetRow(driver))),
    loadWaiting: () => run('waiting', () => tables.waiting().map(({ id }) => tables.waitingRow(id))),
    loadOrderStates: (ids) =>
      run(`states of ${ids}`, () => rows(ids, tables.orders).map((order) => tables.stateRow(order))),
    findMatchable: () =>
      run('what there is to match', () => ({
        orderIds: tables.waiting().map(({ id }) => id),
        driverIds: [...tables.drivers.keys()].filter((id) => tables.isFree(id)),
        nextAfter: '',
      })),
    assignWaiting: (orderId, { driverId }) =>
      run(`assign ${orderId} to ${driverId}`, () => {
        const kind = tables.assign(processId, orderId, driverId);
        return kind === 'assigned' ? { kind, outbox: [] } : { kind };
      }),
    expireOrder: (orderId) => run(`expire ${orderId}`, () => tables.expire(processId, orderId)),
    expireSurplus: async () => [],
    findOverdue: (limit) => run('overdue orders', () => tables.overdue.slice(0, limit)),
    endDuties: async () => undefined,
    findSilent: () => run('silent drivers', () => tables.silent.map((each) => ({ ...each, isGone: false }))),
    releaseFromSilent: (orderId, driverId) =>
      run(`release from ${driverId}`, () => tables.release(processId, orderId, driverId)),
    setDriverDuty: (driverId, onDuty) =>
      run(`duty of ${driverId} ${onDuty}`, () => tables.setDuty(processId, driverId, onDuty)),
    pickUpOrder: (orderId, driverId) => run(`pick up ${orderId}`, () => tables.pickUp(processId, orderId, driverId)),
    pickUpLate: async () => null,
    deliverOrder: (orderId, driverId) => run(`deliver ${orderId}`, () => tables.deliver(processId, orderId, driverId)),
    releaseOrder: (orderId, driverId) => run(`release ${orderId}`, () => tables.release(processId, orderId, driverId)),
    findReleasePause: async () => 0,
    markUndeliverable: async () => null,
    returnOrder: async () => null,
    findOrderState: (orderId) =>
      run(`state of ${orderId}`, () => {
        const order = tables.orders.get(orderId);
        return order ? { status: order.status, driverId: order.driverId } : null;
      }),
    findAction: async () => null,
    cancelOrder: (orderId) => run(`cancel ${orderId}`, () => tables.cancel(processId, orderId)),
    findCancelledBy: async () => null,
    findStoreOrder: async (orderId) => {
      const order = tables.orders.get(orderId);
      return order ? ({ status: order.status } as Awaited<ReturnType<Store['findStoreOrder']>>) : null;
    },
  };
}
