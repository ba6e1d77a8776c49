import { driverToken } from '../../harness/stack-world.ts';
import type { Random } from '../../harness/world.ts';
import { notHeld } from '../checker.ts';
import { anyOrder, note, send } from '../clients.ts';
import { ask, askUntilTaken, smallPhoto } from '../phones.ts';
import { any, inWorld, type Row } from '../row.ts';
import type { World } from '../world.ts';

const ORDERS_AT_ONCE = 12;
/** What the phone says of the time of a step. */
const TIMES = [undefined, '1990-01-01T00:00:00Z', '2100-01-01T00:00:00Z'] as const;

type Steps = readonly { readonly name: string; readonly reason?: string }[];
const ENDS: readonly Steps[] = [
  [{ name: 'deliver' }],
  [{ name: 'undeliverable', reason: 'nobody_home' }, { name: 'return' }],
];

/** Deliveries that never happened: every step at once, from where the driver is. */
export const inventedDeliveries: Row = {
  name: 'invented-deliveries',
  what: 'drivers who send every step of an order at once: it counts, and its payout is held',
  count: 1_000,
  run: (count, random) =>
    inWorld({ drivers: 2_000, stores: 10 }, async (world) => {
      const photo = await smallPhoto();
      const ended: string[] = [];
      const problems: string[] = [];
      let orders = 0;
      const client = async (): Promise<void> => {
        while (ended.length < count && problems.length < count) {
          orders++;
          const invented = await invent(world, random, photo);
          if (invented?.problem) problems.push(invented.problem);
          else if (invented) ended.push(invented.orderId);
        }
      };
      await Promise.all(Array.from({ length: ORDERS_AT_ONCE }, client));
      const check = async () => notHeld((await world.records()).payouts, ended);
      return { count: ended.length, orders, findings: problems, check };
    }),
};

/** Ends an order without a way; null for one that nobody was free for. */
async function invent(world: World, random: Random, photo: Buffer) {
  const order = anyOrder(world, random, false);
  note(world, order);
  const { orderId } = await send(world, order, random);
  if (orderId === null) return null;
  const url = any(world.apis, random).url();
  const [row] = await world.sql`select driver_id from orders where id = ${orderId}`;
  if (!row?.driver_id) {
    await ask(`${url}/orders/${orderId}/cancel`, { method: 'POST', key: order.apiKey, body: { reason: 'other' } });
    return null;
  }
  const key = driverToken(row.driver_id);
  for (const { name, reason } of [{ name: 'pick-up', reason: undefined }, ...any(ENDS, random)]) {
    const time = any(TIMES, random);
    const path = `${url}/driver/orders/${orderId}/${name}`;
    const { status } =
      name === 'deliver'
        ? await askUntilTaken(`${path}${time ? `?captured_at=${time}` : ''}`, {
            method: 'POST',
            key,
            body: photo,
            type: 'image/jpeg',
          })
        : await askUntilTaken(path, { method: 'POST', key, body: { reason, captured_at: time } });
    if (status !== 200)
      return { orderId, problem: `invented: ${name} of order ${orderId} was answered with ${status}` };
  }
  return { orderId, problem: null };
}
