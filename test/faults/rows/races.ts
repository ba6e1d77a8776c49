import { CANCEL_REASONS } from '../../../src/domain/order.ts';
import { UNSTAMPED } from '../../harness/orders.ts';
import { driverToken } from '../../harness/stack-world.ts';
import { storeOf } from '../../harness/store.ts';
import type { Random } from '../../harness/world.ts';
import { givenOrder } from '../clients.ts';
import { ask } from '../phones.ts';
import { any, inWorld, type Row, repeat } from '../row.ts';
import { later, lookUntil, type World } from '../world.ts';

/** Long against everything else, so that most charges are in flight when the race begins. */
const STRIPE_MS = 150;
const AT_ONCE = 20;
const FREED_MS = 20_000;
const PHOTO = `${'0'.repeat(32)}.jpg`;

type Race = { readonly orderId: string; readonly driverId: string; readonly apiKey: string };

export const cancelRaces: Row = {
  name: 'cancel-races',
  what: 'a cancellation races the pickup and the charge, on two API processes',
  count: 2_000,
  run: (count, random) =>
    inWorld({}, async (world) => {
      world.stripe.orderFaults({ latencyMs: STRIPE_MS });
      const problems: string[] = [];
      const pickedUp: string[] = [];
      await repeat(count, AT_ONCE, async () => {
        const race = await givenOrder(world, random);
        const { problem, winner } = await run(world, random, race);
        if (problem) problems.push(`race: order ${race.orderId} ${problem}`);
        if (winner !== 'pickup') return;
        pickedUp.push(race.orderId);
        await storeOf(world.sql, 'faults').deliverOrder(race.orderId, race.driverId, PHOTO, UNSTAMPED);
      });
      await endOthers(world);
      const check = async () => [...(await lostFees(world, pickedUp)), ...(await stillBusy(world))];
      const notes = [`${pickedUp.length} of ${count} orders were picked up`];
      return { count, orders: count, findings: problems, check, notes };
    }),
};

/** Orders without a driver at first may have one by now. */
async function endOthers({ sql }: World): Promise<void> {
  const open = () => sql`select id from orders where status in ('pending_dispatch', 'driver_assigned')`;
  for (let left = await open(); left.length > 0; left = await open()) {
    await Promise.all(left.map(({ id }) => storeOf(sql, 'faults').cancelOrder(id, 'operator', 'other')));
  }
}

/** Sends the cancellations and the pickup at once; exactly one side must win, and each must be told so. */
async function run(world: World, random: Random, race: Race) {
  await later(random() * 2 * STRIPE_MS);
  const soon = () => later(random() * 8);
  const pickingUp = soon().then(() => pickUp(world, random, race));
  const cancelling = cancellations(world, random, race).map((cancel) => soon().then(cancel));
  const [pickup, ...cancels] = await Promise.all([pickingUp, ...cancelling]);
  const [row] = await world.sql`select status, driver_id from orders where id = ${race.orderId}`;
  const isPickedUp = row?.status === 'picked_up';
  const faults: [boolean, string][] = [
    [!isPickedUp && row?.status !== 'cancelled', `is ${row?.status} after the race`],
    [row?.driver_id !== race.driverId, 'changed its driver'],
    [pickup !== isPickedUp, `is ${row?.status} and its driver was told ${pickup}`],
    [cancels.some((cancel) => cancel === isPickedUp), `is ${row?.status} and who cancelled was told ${cancels}`],
  ];
  const problem = faults.find(([holds]) => holds)?.[1];
  return { problem, winner: isPickedUp ? 'pickup' : 'cancel' };
}

/** One cancellation by the store or the operator, or two equal ones under one key. */
function cancellations(world: World, random: Random, { orderId, apiKey }: Race): (() => Promise<boolean>)[] {
  const reason = any(CANCEL_REASONS, random);
  const byStore = (headers: Record<string, string>) => () =>
    post(world, random, `/orders/${orderId}/cancel`, apiKey, { reason }, headers);
  const lot = random();
  if (lot < 0.3) return [byStore({})];
  if (lot < 0.5)
    return [async () => (await storeOf(world.sql, 'faults').cancelOrder(orderId, 'operator', reason)) !== null];
  const keyed = byStore({ 'idempotency-key': `cancel ${orderId}` });
  return lot < 0.7 ? [keyed] : [keyed, keyed];
}

const pickUp = (world: World, random: Random, { orderId, driverId }: Race): Promise<boolean> =>
  post(world, random, `/driver/orders/${orderId}/pick-up`, driverToken(driverId), {}, {});

/** Whether it was done; any other answer than "done" or "not in this status" ends the row. */
async function post(
  { apis }: World,
  random: Random,
  path: string,
  secret: string,
  body: object,
  headers: Record<string, string>,
): Promise<boolean> {
  const sent = { method: 'POST', key: secret, body, headers };
  const { status, text } = await ask(`${any(apis, random).url()}${path}`, sent);
  if (status === 200) return true;
  if (status === 409 && text.includes('illegal_transition')) return false;
  throw new Error(`${path} was answered with ${status}: ${text}`);
}

/** The fee of a picked-up order stays, once. */
async function lostFees(world: World, orderIds: readonly string[]): Promise<string[]> {
  const { payments, refunds } = await world.records();
  const refunded = new Set(refunds.map(({ paymentIntent }) => paymentIntent));
  const kept = new Map<string, number>();
  for (const { id, metadata, answer } of payments) {
    const orderId = metadata.order_id ?? '';
    if (answer.kind === 'paid' && !refunded.has(id)) kept.set(orderId, (kept.get(orderId) ?? 0) + 1);
  }
  return orderIds
    .filter((id) => kept.get(id) !== 1)
    .map((id) => `charge: order ${id} was picked up and its fee was kept ${kept.get(id) ?? 0} times`);
}

/** All orders have ended, so every API process must know every driver as free, at the latest by a sweep. */
async function stillBusy({ apis }: World): Promise<string[]> {
  const look = async () => {
    const counts = await Promise.all(apis.map(async ({ name, url }) => ({ name, busy: await busyDrivers(url()) })));
    return counts.filter(({ busy }) => busy !== 0);
  };
  const wrong = await lookUntil(look, ({ length }) => length === 0, FREED_MS, 500);
  return wrong.map(({ name, busy }) => `driver: ${name} has ${busy} of them busy, and every order has ended`);
}

async function busyDrivers(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const figure = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(metrics)?.[1]);
  return figure('sameday_drivers_on_duty') - figure('sameday_drivers_free');
}
