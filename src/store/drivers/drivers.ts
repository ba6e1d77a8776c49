import type { Fragment, Row, Sql } from 'postgres';
import type { DriverPosition, FleetDriver } from '../../domain/driver.ts';
import type { WaitPlace } from '../../domain/idle-wait.ts';
import { FIRST_ID } from '../../domain/ids.ts';
import type { DropoffAddress, OrderItem, OrderStatus } from '../../domain/order.ts';
import type { CarriedOrder } from '../../domain/route.ts';
import type { TierId } from '../../domain/tier.ts';
import { DEFAULT_VEHICLE, type Vehicle } from '../../domain/vehicle.ts';
import { IDLE_WAIT_MS, MAX_CLOCK_LEAD_MS } from '../../limits.ts';
import type { Db } from '../db.ts';
import { changeAndTell, isDriver, rowsOf } from '../fragments.ts';
import { carriedColumns, joinCarried, toCarried } from './carried.ts';

/** Drivers that one statement reads to load a fleet. A million take longer than STATEMENT_TIMEOUT_MS. */
const FLEET_PART = 50_000;

export type NewDriver = {
  readonly id: string;
  readonly name: string;
  readonly phone: string;
  readonly tokenHash: string;
  readonly tierIds: readonly TierId[];
  /** DEFAULT_VEHICLE by default. */
  readonly vehicle?: Vehicle;
  /** 1 by default. */
  readonly capacity?: number;
};

/** Adds a driver, off duty. */
export async function createDriver(db: Db, driver: NewDriver): Promise<void> {
  const created = db.sql`
    insert into drivers (id, name, phone, token_hash, tiers, vehicle, capacity)
    values (${driver.id}, ${driver.name}, ${driver.phone}, ${driver.tokenHash}, ${[...driver.tierIds]}::text[],
      ${driver.vehicle ?? DEFAULT_VEHICLE}, ${driver.capacity ?? 1})`;
  await changeAndTell(db, 'driver', created);
}

/** The first active driver with a phone; null if there is none. */
export async function findDriverByPhone({ sql }: Db, phone: string): Promise<string | null> {
  const [row] = await sql`select id from drivers where phone = ${phone} and active order by id limit 1`;
  return row ? row.id : null;
}

/** What the operator may change of a driver; what is null or missing stays. */
export type DriverChange = {
  readonly [Field in 'name' | 'phone' | 'tierIds' | 'vehicle' | 'capacity']?: NewDriver[Field] | null;
};

/** Corrects a driver. False for an unknown driver. */
export function correctDriver(db: Db, driverId: string, change: DriverChange): Promise<boolean> {
  const { name = null, phone = null, tierIds = null, vehicle = null, capacity = null } = change;
  const set = db.sql`name = coalesce(${name}, name), phone = coalesce(${phone}, phone),
    tiers = coalesce(${tierIds && [...tierIds]}::text[], tiers), vehicle = coalesce(${vehicle}, vehicle),
    capacity = coalesce(${capacity}, capacity)`;
  return changeDriver(db, driverId, set);
}

/** Sets until when a driver stays on duty; null for no end. False for a driver who is unknown or off duty. */
export function setDutyEnd(db: Db, driverId: string, until: Date | null): Promise<boolean> {
  return changeDriver(db, driverId, db.sql`on_duty_until = ${until}`, db.sql`on_duty`);
}

/** False for an unknown driver, and for one who is not as `where` says. */
async function changeDriver(db: Db, driverId: string, set: Fragment, where = db.sql`true`): Promise<boolean> {
  const change = db.sql`update drivers set ${set} where id = ${driverId} and ${where}`;
  return (await changeAndTell(db, 'driver', change)) === 1;
}

/**
 * Sends drivers off duty whose time is up, at most `limit`. They keep their orders. Its notice names no process, so
 * every one reads these drivers again, the one whose statement has no answer, too.
 */
export async function endDuties({ sql }: Db, limit: number): Promise<void> {
  await sql`
    with ended as (
      update drivers set on_duty = false, on_duty_until = null
      where id in (
        select id from drivers where on_duty and on_duty_until <= now() limit ${limit} for update skip locked)
      returning id
    )
    select pg_notify('sameday', ':driver:' || id) from ended`;
}

/** The driver whose token has this hash; one who was deactivated only until the order in their hands ends. */
export async function findDriverByToken({ sql }: Db, tokenHash: string): Promise<{ driverId: string } | null> {
  const [row] = await sql`select id from drivers d where token_hash = ${tokenHash} and ${isDriver(sql, sql`d`)}`;
  return row ? { driverId: row.id } : null;
}

/**
 * Sets a driver's duty; null if the driver is unknown or no longer active. Repeating it changes nothing.
 *
 * @param until when the driver goes home; null for one who does not say
 */
export async function setDriverDuty(
  db: Db,
  driverId: string,
  onDuty: boolean,
  until: Date | null = null,
): Promise<{ onDuty: boolean } | null> {
  const set = db.sql`free_since = case when on_duty then free_since else now() end, on_duty = ${onDuty},
    on_duty_until = ${onDuty ? until : null}::timestamptz`;
  return (await changeDriver(db, driverId, set, db.sql`active`)) ? { onDuty } : null;
}

const POSITIONS = rowsOf<DriverPosition>([
  ['driver_id', 'uuid', ({ driverId }) => driverId],
  ['lat', 'float8', ({ lat }) => lat],
  ['lng', 'float8', ({ lng }) => lng],
  ['captured_at', 'timestamptz', ({ atMs }) => new Date(atMs)],
]);

/**
 * Writes the last positions of drivers. The commit does not wait for the disk: what a crash loses, the next
 * reports replace.
 */
export async function writePositions({ sql }: Db, positions: readonly DriverPosition[]): Promise<void> {
  await sql`
    with fast as materialized (select set_config('synchronous_commit', 'off', true))
    insert into driver_positions (driver_id, lat, lng, captured_at)
    select p.* from fast, (${POSITIONS(sql, positions)}) p
    order by 1
    on conflict (driver_id) do update
    set lat = excluded.lat, lng = excluded.lng, captured_at = excluded.captured_at, received_at = now()
    where driver_positions.captured_at <= excluded.captured_at
      -- Of a clock that was set back since, as by a failover to another server.
      or driver_positions.captured_at > now() + make_interval(secs => ${MAX_CLOCK_LEAD_MS / 1_000})`;
}

/**
 * The drivers as the matcher needs them, with those who were deactivated and still carry a parcel: those of
 * `ids`, where a missing one is no driver any more, or all. All are read in parts, because a million take
 * longer than STATEMENT_TIMEOUT_MS.
 *
 * @param part drivers that one statement reads
 */
export async function loadFleet({ sql }: Db, ids?: readonly string[], part = FLEET_PART): Promise<FleetDriver[]> {
  if (ids) return readFleet(sql, sql`and d.id = any(${[...ids]}::uuid[])`);
  const all: FleetDriver[] = [];
  for (let after: string = FIRST_ID; ; ) {
    const some = await readFleet(sql, sql`and d.id > ${after} order by d.id limit ${part}`);
    for (const driver of some) all.push(driver);
    const last = some.at(-1);
    if (!last || some.length < part) return all;
    after = last.id;
  }
}

/** A driver has a row for each order that they carry, or one without an order. */
async function readFleet(sql: Sql, which: Fragment): Promise<FleetDriver[]> {
  const rows = await sql`
    select d.id, d.tiers, d.on_duty, d.capacity, d.vehicle, d.on_duty_until, p.lat, p.lng, p.captured_at,
      d.free_since, ${carriedColumns(sql)}
    from (select * from drivers d where ${isDriver(sql, sql`d`)} ${which}) d
    left join driver_positions p on p.driver_id = d.id
    ${joinCarried(sql)}
    where d.active or o.status in ('picked_up', 'undeliverable')
    order by d.id, o.assigned_at, o.id`;
  const drivers: FleetDriver[] = [];
  for (const row of rows) {
    const last = drivers.at(-1);
    if (last && last.id === row.id) (last.carried as CarriedOrder[]).push(toCarried(row));
    else drivers.push(toFleetDriver(row));
  }
  return drivers;
}

function toFleetDriver(row: Row): FleetDriver {
  return {
    id: row.id,
    tierIds: row.tiers,
    onDuty: row.on_duty,
    position: row.captured_at ? { lat: row.lat, lng: row.lng, atMs: row.captured_at.getTime() } : null,
    freeSinceMs: row.free_since.getTime(),
    carried: row.order_id === null ? [] : [toCarried(row)],
    capacity: row.capacity,
    vehicle: row.vehicle,
    onDutyUntilMs: row.on_duty_until?.getTime() ?? null,
  };
}

/** The order that a driver carries, with what the driver needs to know of it. */
export type DriverOrder = {
  readonly id: string;
  readonly status: OrderStatus;
  readonly sequence: number;
  readonly deliveryTier: TierId;
  readonly payoutCents: number;
  readonly storeName: string;
  /** By how much the point of the door may be off in meters; null where there is none. */
  readonly doorAccuracyMeters?: number | null;
  /** What the order of the stops rests on. */
  readonly carried: CarriedOrder;
  readonly items: readonly OrderItem[];
  readonly pickup: {
    readonly address: string;
    readonly lat: number;
    readonly lng: number;
    readonly instructions: string | null;
  };
  readonly dropoff: DropoffAddress & {
    readonly name: string;
    readonly phone: string;
    readonly instructions: string | null;
    readonly leaveAtDoor: boolean;
  };
};

/** A driver's duty, and the orders that they carry, those assigned first before the others. */
export type DriverState = {
  readonly driverId: string;
  readonly name: string;
  /** The hash of the only token that is good now. */
  readonly tokenHash: string;
  readonly onDuty: boolean;
  readonly onDutyUntil: Date | null;
  readonly capacity: number;
  readonly vehicle: Vehicle;
  readonly orders: readonly DriverOrder[];
  /** Where one who is on duty without an order was asked to wait, for IDLE_WAIT_MS; else null. */
  readonly waitAt: WaitPlace | null;
};

/** The state of a driver; null for one who is unknown, or deactivated and without a parcel. */
export async function findDriverState(db: Db, driverId: string): Promise<DriverState | null> {
  return (await findDriverStates(db, [driverId])).get(driverId) ?? null;
}

/** The states of drivers by their ids; one who is unknown, or deactivated and without a parcel, is missing. */
export async function findDriverStates({ sql }: Db, driverIds: readonly string[]): Promise<Map<string, DriverState>> {
  const rows = await sql`
    select d.id as driver_id, d.name as driver_name, d.token_hash, d.on_duty, d.on_duty_until, d.capacity, d.vehicle,
      ${carriedColumns(sql)},
      o.id, o.sequence, o.delivery_tier, o.driver_payout_cents, o.pickup_address, r.name as store_name, c.name, c.phone,
      a.line1, a.line2, a.city, a.state, a.zip, a.accuracy_meters as door_accuracy, o.items,
      o.pickup_instructions, o.dropoff_instructions,
      o.leave_at_door, w.driver_id is not null as is_asked, w.lat as wait_lat, w.lng as wait_lng, w.name as wait_name
    from drivers d
    ${joinCarried(sql)}
    left join driver_waits w on w.driver_id = d.id and o.id is null and d.on_duty and w.ended_at is null
      and w.asked_at > greatest(d.free_since, now() - make_interval(secs => ${IDLE_WAIT_MS / 1_000}))
    left join retailers r on r.id = o.retailer_id
    left join customers c on c.id = o.customer_id
    where d.id = any(${[...driverIds]}::uuid[]) and (d.active or o.status in ('picked_up', 'undeliverable'))
    order by o.assigned_at, o.id`;
  const states = new Map<string, DriverState>();
  for (const row of rows) {
    const orders = row.id ? [toDriverOrder(row)] : [];
    const known = states.get(row.driver_id);
    if (known) (known.orders as DriverOrder[]).push(...orders);
    else states.set(row.driver_id, toDriverState(row, orders));
  }
  return states;
}

const toDriverState = (row: Row, orders: DriverOrder[]): DriverState => ({
  driverId: row.driver_id,
  name: row.driver_name,
  tokenHash: row.token_hash,
  onDuty: row.on_duty,
  onDutyUntil: row.on_duty_until,
  capacity: row.capacity,
  vehicle: row.vehicle,
  orders,
  waitAt: row.is_asked ? { lat: row.wait_lat, lng: row.wait_lng, name: row.wait_name } : null,
});

function toDriverOrder(row: Row): DriverOrder {
  const { name, phone, line1, line2, city, state, zip } = row as DriverOrder['dropoff'] & Row;
  const { dropoff_instructions: instructions, leave_at_door: leaveAtDoor } = row;
  return {
    id: row.id,
    status: row.status,
    sequence: row.sequence,
    deliveryTier: row.delivery_tier,
    payoutCents: row.driver_payout_cents,
    storeName: row.store_name,
    doorAccuracyMeters: row.door_accuracy,
    carried: toCarried(row),
    items: row.items ?? [],
    pickup: {
      address: row.pickup_address,
      lat: row.pickup_lat,
      lng: row.pickup_lng,
      instructions: row.pickup_instructions,
    },
    dropoff: { name, phone, line1, line2, city, state, zip, instructions, leaveAtDoor },
  };
}
