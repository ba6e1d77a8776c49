import { UNSTAMPED } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import type { Random } from '../harness/world.ts';
import { keepOn, type World } from './world.ts';

const PAUSE_MS = 250;
const AT_ONCE = 100;
const PHOTO = `${'0'.repeat(32)}.jpg`;
const PROCESS_ID = 'faults';

/**
 * Acts for drivers and operators by the service's own statements, as another process would: most orders are
 * picked up and delivered, some are released or cancelled first. A statement that fails is left for the next
 * round.
 *
 * @param pauseMs time between two rounds, in which each order makes a step
 */
export function startDeliveries(world: World, random: Random, pauseMs = PAUSE_MS): { stop(): Promise<void> } {
  const { sql, isClosed } = world;
  const store = storeOf(sql, PROCESS_ID);
  let isStopped = false;

  async function round(): Promise<void> {
    const rows = await sql`
      select id, driver_id, status from orders where status in ('driver_assigned', 'picked_up') limit ${AT_ONCE}`;
    for (const { id, driver_id: driverId, status } of rows) {
      if (isStopped || isClosed()) return;
      const lot = random();
      if (status === 'picked_up') await store.deliverOrder(id, driverId, PHOTO, UNSTAMPED);
      else if (lot < 0.1) await store.cancelOrder(id, 'operator', 'other');
      else if (lot < 0.15) await store.releaseOrder(id, driverId, 'vehicle', UNSTAMPED);
      else await store.pickUpOrder(id, driverId, UNSTAMPED);
    }
  }

  const rounds = keepOn(world, pauseMs, () => round().catch(() => undefined));
  return {
    stop() {
      isStopped = true;
      return rounds.stop();
    },
  };
}
