import type { Random } from '../../harness/world.ts';
import { anyOrder, note, send } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { any, inWorld, type Row, type RowResult } from '../row.ts';
import { keepOn, later, type World, type WorldSizes } from '../world.ts';
import { bringToStore, expireWaiting } from './orders.ts';

const DRIVERS = 6;
const MOST_CAPACITY = 5;
const AT_ONCE = 60;
const LOOK_MS = 20;
const MOST_KILL_MS = 150;

export const driverSlots: Row = {
  name: 'driver-slots',
  what: `${AT_ONCE} orders at once for the last slots of ${DRIVERS} drivers, while an API process is killed`,
  count: 40,
  needs: ['redis'],
  run: (count, random) => fillSlots(count, random, { drivers: DRIVERS, stores: 1, apis: 3, workers: 2 }),
};

export const slotsOfBuilds: Row = {
  name: 'builds-slots',
  what: 'the same with processes of the version before beside those of this one, as in an upgrade',
  count: 40,
  needs: ['redis', 'beside'],
  run: (count, random, _scale, beside) => {
    return fillSlots(count, random, { drivers: DRIVERS, stores: 1, apis: 2, workers: 1, beside });
  },
};

function fillSlots(count: number, random: Random, sizes: WorldSizes): Promise<RowResult> {
  return inWorld(sizes, async (world) => {
    await bringToStore(world);
    await setCapacities(world);
    const deliveries = startDeliveries(world, random);
    const overfull = watchCapacities(world);
    for (let i = 0; i < count; i++) {
      const orders = Array.from({ length: AT_ONCE }, () => anyOrder(world, random, false, 0));
      note(world, ...orders);
      await Promise.all([...orders.map((order) => send(world, order, random)), killOne(world, sizes.apis, random)]);
      await expireWaiting(world);
    }
    await deliveries.stop();
    const seen = await overfull.stop();
    const [row] = await world.sql`
      select max(driver_slot)::int as slot, count(*)::int as given from orders where driver_id is not null`;
    const notes = [`${row?.given} orders kept a driver, the fullest route had ${row?.slot + 1}`];
    return { count, orders: count * AT_ONCE, findings: seen, notes };
  });
}

/** Drivers carry from one order to several. */
async function setCapacities({ sql }: World): Promise<void> {
  await sql`
    with changed as (
      update drivers d set capacity = 1 + n.place % ${MOST_CAPACITY}
      from (select id, row_number() over (order by id) as place from drivers) n where n.id = d.id returning d.id
    )
    select pg_notify('sameday', 'faults:driver:' || id) from changed`;
}

/** Of this version, since the one before does not start on the schema of this one. */
async function killOne({ apis }: World, own: number, random: Random): Promise<void> {
  const api = any(apis.slice(0, own), random);
  await later(random() * MOST_KILL_MS);
  if (random() < 0.5) return;
  await api.kill();
  await api.start();
}

/** Looks again and again for a driver with more active orders than may ever be, or two in a slot. */
function watchCapacities(world: World): { stop(): Promise<string[]> } {
  const seen = new Set<string>();
  const look = async (): Promise<void> => {
    const rows = await world.sql`
      select o.driver_id, count(*)::int as orders, count(distinct o.driver_slot)::int as slots
      from orders o where o.status in ('driver_assigned', 'picked_up', 'undeliverable')
      group by o.driver_id having count(*) > ${MOST_CAPACITY} or count(*) > count(distinct o.driver_slot)`;
    for (const { driver_id, orders, slots } of rows) {
      seen.add(`driver: ${driver_id} carried ${orders} orders in ${slots} slots`);
    }
  };
  const looking = keepOn(world, LOOK_MS, () =>
    look().catch((error: unknown) => void seen.add(`driver: nobody looked: ${String(error)}`)),
  );
  return { stop: () => looking.stop().then(() => [...seen]) };
}
