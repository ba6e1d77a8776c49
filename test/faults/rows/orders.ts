import { anyOrder, note, send } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { findings, type Row, SIZES } from '../row.ts';
import { openWorld } from '../world.ts';

const KEYS_AT_ONCE = 50;

export const sameKey: Row = {
  name: 'same-key',
  what: `${KEYS_AT_ONCE} identical requests with one key at once`,
  count: 500,
  async run(count, random) {
    const world = await openWorld(SIZES);
    try {
      for (let i = 0; i < count; i++) {
        const order = anyOrder(world, random, true);
        note(world, order);
        await Promise.all(Array.from({ length: KEYS_AT_ONCE }, () => send(world, order, random)));
      }
      return { count, orders: count, findings: await findings(world), recoveries: [] };
    } finally {
      await world.close();
    }
  },
};

const FEW_DRIVERS = 20;
const AT_ONCE = 200;

export const fewDrivers: Row = {
  name: 'few-drivers',
  what: `${AT_ONCE} orders at once for ${FEW_DRIVERS} drivers, on every API process`,
  count: 300,
  async run(count, random) {
    const world = await openWorld({ ...SIZES, drivers: FEW_DRIVERS, stores: 3 });
    const deliveries = startDeliveries(world, random);
    try {
      for (let i = 0; i < count; i++) {
        const orders = Array.from({ length: AT_ONCE }, () => anyOrder(world, random, false));
        for (const order of orders) note(world, order);
        await Promise.all(orders.map((order) => send(world, order, random)));
        // Those that wait would fill the queue; here it is the race that counts.
        await world.sql`
          update orders set expires_at = now() where status = 'pending_dispatch'`;
      }
      await deliveries.stop();
      return { count, orders: count * AT_ONCE, findings: await findings(world), recoveries: [] };
    } finally {
      await deliveries.stop();
      await world.close();
    }
  },
};
