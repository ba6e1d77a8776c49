import { TIER_IDS } from '../../src/domain/tier.ts';
import { STORE_STOP_MS } from '../../src/limits.ts';
import type { Random } from '../harness/world.ts';
import { anyOrder, type Order, startLoad } from './clients.ts';
import { startDeliveries } from './deliveries.ts';
import type { RowResult } from './row.ts';
import { lookUntil, type World } from './world.ts';

/** Time until the next planned order is due: below this an order might count as ready now. */
const SOONEST_MS = 500;
const LATEST_MS = 12_000;
const KEYED_SHARE = 0.8;
const GIVEN_MS = 30_000;
const POLL_MS = 50;
const MOST_CAPACITY = 3;
/** Drivers within it are of the store's town; the next one is farther. */
const TOWN_DEGREES = 0.5;

/** Drivers serve all tiers, stand at the stores in equal numbers, and carry from one order to several. */
export async function spreadDrivers({ sql, stores }: World): Promise<void> {
  const lats = stores.map(({ point }) => point.lat);
  const lngs = stores.map(({ point }) => point.lng);
  await sql`
    update drivers d set tiers = ${[...TIER_IDS]}::text[], capacity = 1 + n.place % ${MOST_CAPACITY}
    from (select id, row_number() over (order by id) as place from drivers) n where n.id = d.id`;
  // Later than their last position.
  await sql`
    update driver_positions p set captured_at = captured_at + interval '1 minute', lat = s.lat, lng = s.lng
    from (select driver_id, row_number() over (order by driver_id) - 1 as place from driver_positions) n
    join unnest(${lats}::float8[], ${lngs}::float8[]) with ordinality as s (lat, lng, store) on true
    where n.driver_id = p.driver_id and n.place % ${stores.length} = s.store - 1`;
  await sql`select pg_notify('sameday', 'faults:driver:' || id) from drivers`;
}

/**
 * An order that is ready some seconds later than a driver at its store could have it, so that it is the
 * planner's: the driver is told at any of these seconds.
 */
export function plannedOrder(world: Pick<World, 'stores'>, random: Random, latestMs = LATEST_MS): Order {
  const order = anyOrder(world, random, random() < KEYED_SHARE);
  const readyMs = Date.now() + STORE_STOP_MS + SOONEST_MS + random() * (latestMs - SOONEST_MS);
  const body = { ...JSON.parse(order.body), ready_at: new Date(readyMs).toISOString() };
  return { ...order, body: JSON.stringify(body) };
}

/**
 * Waits until no order waits that a driver of its town could have, who did not give it back; a sentence for each
 * that was not given in time.
 */
export async function untilAllGiven({ sql }: World): Promise<string[]> {
  const look = () => sql`
    select o.id, o.delivery_tier as tier, extract(epoch from now() - o.created_at)::int as seconds,
      extract(epoch from o.ready_at - o.created_at)::int as ready, cardinality(o.excluded_driver_ids) as excluded,
      array(select type from order_events e where e.order_id = o.id order by sequence) as events,
      (select driver_id || ' in ' || extract(epoch from pickup_at - now())::int || ' s' from plans p
       where p.order_id = o.id) as plan
    from orders o where o.status = 'pending_dispatch' and exists (
      select from driver_positions p where p.driver_id <> all(o.excluded_driver_ids)
        and abs(p.lat - o.pickup_lat) < ${TOWN_DEGREES} and abs(p.lng - o.pickup_lng) < ${TOWN_DEGREES})
    limit 20`;
  const waiting = await lookUntil(look, (rows) => rows.length === 0, GIVEN_MS, POLL_MS);
  return waiting.map(({ id, ...facts }) => `waits: order ${id} is given to nobody: ${JSON.stringify(facts)}`);
}

/** Does something while planned orders come and drivers deliver; afterwards all that can be given has to be. */
export async function underPlanned(
  world: World,
  perSecond: number,
  random: Random,
  act: () => Promise<readonly string[]>,
  next = () => plannedOrder(world, random),
): Promise<Pick<RowResult, 'orders' | 'findings'>> {
  const load = startLoad(world, perSecond, random, 0, next);
  const deliveries = startDeliveries(world, random);
  const found = [...(await act()), ...(await load.stop()), ...(await untilAllGiven(world))];
  await deliveries.stop();
  return { orders: load.sent(), findings: found };
}

/** How much later than they had to leave drivers were told of orders for the first time, in milliseconds. */
export async function tellingDelays({ sql }: World): Promise<number[]> {
  const rows = await sql`
    select extract(epoch from min(e.at) - greatest(min(o.created_at), min(o.ready_at)
      - make_interval(secs => ${STORE_STOP_MS / 1_000})))::float8 * 1000 as ms
    from orders o join order_events e on e.order_id = o.id and e.type = 'driver_assigned'
    where o.ready_at is not null group by o.id`;
  return rows.map(({ ms }) => ms as number);
}

export const most = (values: readonly number[]): string => Math.max(0, ...values).toFixed(0);
