import { TIER_IDS } from '../../../src/domain/tier.ts';
import { storeOf } from '../../harness/store.ts';
import type { Random } from '../../harness/world.ts';
import { anyOrder, heardOf, note, type Order, send } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { ask } from '../phones.ts';
import { any, inWorld, type Row } from '../row.ts';
import { later, type World } from '../world.ts';

const KEYS_AT_ONCE = 50;
const MOST_TRIES = 10;
const PAUSE_MS = 200;

export const sameKey: Row = {
  name: 'same-key',
  what: `${KEYS_AT_ONCE} requests with one key at once, often some of them with another body`,
  count: 500,
  run: (count, random) =>
    inWorld({}, async (world) => {
      const problems: string[] = [];
      for (let i = 0; i < count; i++) problems.push(...(await sendAtOnce(world, random)));
      return { count, orders: count, findings: problems };
    }),
};

/**
 * Several requests with one key at once: equal ones get the first one's order, others are told which order it
 * made.
 */
async function sendAtOnce(world: World, random: Random): Promise<string[]> {
  const one = anyOrder(world, random, true);
  const other = otherwise(one, anyOrder(world, random, true));
  const share = random() < 0.5 ? 0 : random();
  const wanted = Array.from({ length: KEYS_AT_ONCE }, () => (random() < share ? other : one));
  note(world, ...new Set(wanted));
  const answers = await Promise.all(wanted.map((order) => sendKeyed(world, order, random)));
  const [row] = await world.sql`
    select o.id, c.name from orders o join customers c on c.id = o.customer_id
    where o.retailer_id = ${one.retailerId} and o.idempotency_key = ${one.key}`;
  const isRight = ({ customer }: Order, { status, names }: Answer) =>
    row && names === row.id && status === (customer === row.name ? 201 : 409);
  const wrong = answers.find((answer, i) => !isRight(wanted[i] as Order, answer));
  const firsts = answers.filter(({ status, isReplayed }) => status === 201 && !isReplayed).length;
  return [
    ...(wrong ? [`key: one of ${KEYS_AT_ONCE} for order ${row?.id} heard ${JSON.stringify(wrong)}`] : []),
    ...(firsts === 1 ? [] : [`key: ${firsts} answers say that they made order ${row?.id}`]),
  ];
}

/** Another order under the same key. */
function otherwise(order: Order, { op }: Order): Order {
  const customer = `${order.customer} otherwise`;
  return { ...order, op, customer, body: order.body.replace(`"${order.customer}"`, `"${customer}"`) };
}

type Answer = { readonly status: number; readonly isReplayed: boolean; readonly names: string | undefined };

/** Repeats after a 503, as it asks for, since a busy machine may refuse some. */
async function sendKeyed(world: World, order: Order, random: Random): Promise<Answer> {
  for (let tries = MOST_TRIES; ; tries--) {
    const answer = await sendOnce(world, order, random);
    if (answer.status !== 503 || tries === 0) return answer;
    await later(PAUSE_MS);
  }
}

async function sendOnce(world: World, { op, key, body, apiKey }: Order, random: Random): Promise<Answer> {
  const sent = { method: 'POST', key: apiKey, body, headers: { 'idempotency-key': key ?? '' } };
  const answer = await ask(`${any(world.apis, random).url()}/orders/create`, sent);
  const { status, headers } = answer;
  const said = answer.body as { order?: { id: string }; message: string };
  world.history.hears({ ...heardOf(op, status, said), outcome: status === 201 ? 'ok' : 'failed' });
  const names = said.order?.id ?? /for order (\S+),/.exec(said.message)?.[1];
  return { status, isReplayed: headers.get('idempotent-replayed') === 'true', names };
}

const MOST_DRIVERS = 20;
const AT_ONCE = 200;

export const fewDrivers: Row = {
  name: 'few-drivers',
  what: `${AT_ONCE} orders at once for 1 to ${MOST_DRIVERS} drivers, on three API processes and then on two`,
  count: 300,
  run: (count, random) =>
    inWorld({ drivers: MOST_DRIVERS, stores: 1, apis: 3, workers: 2 }, async (world) => {
      await bringToStore(world);
      const deliveries = startDeliveries(world, random);
      const onThree = Math.ceil(count / 2);
      await runRounds(world, random, onThree);
      await world.apis[2]?.kill();
      await runRounds({ ...world, apis: world.apis.slice(0, 2) }, random, count - onThree);
      await deliveries.stop();
      const [row] = await world.sql`
        select count(*)::int as given, count(distinct data ->> 'driver_id')::int as drivers from order_events
        where type = 'driver_assigned'`;
      const notes = [`${row?.given} orders were given to ${row?.drivers} drivers`];
      return { count, orders: count * AT_ONCE, findings: [], notes };
    }),
};

async function runRounds(world: World, random: Random, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await keepOnDuty(world, 1 + Math.floor(random() * MOST_DRIVERS));
    // Without texts, of which the stand-in's ledger does not hold as many.
    const orders = Array.from({ length: AT_ONCE }, () => anyOrder(world, random, false, 0));
    note(world, ...orders);
    await Promise.all(orders.map((order) => send(world, order, random)));
    await expireWaiting(world);
  }
}

/** Waiting orders would fill the queue, and only the race matters here. */
export async function expireWaiting({ sql }: World): Promise<void> {
  const rows = await sql`update orders set expires_at = now() where status = 'pending_dispatch' returning id`;
  await Promise.all(rows.map(({ id }) => storeOf(sql, 'faults').expireOrder(id)));
}

/** All drivers are at the store and serve all tiers. */
export async function bringToStore({ sql, stores }: World): Promise<void> {
  const { lat, lng } = stores[0]?.point ?? { lat: 0, lng: 0 };
  await sql`update drivers set tiers = ${[...TIER_IDS]}::text[]`;
  // Later than their last position.
  await sql`
    update driver_positions set lat = ${lat}, lng = ${lng}, captured_at = captured_at + interval '1 minute'`;
  await sql`select pg_notify('sameday', 'faults:driver:' || id) from drivers`;
}

/** Sets this many drivers on duty and notifies every process. */
async function keepOnDuty({ sql }: World, count: number): Promise<void> {
  await sql`
    with changed as (
      update drivers d set on_duty = n.place <= ${count}
      from (select id, row_number() over (order by id) as place from drivers) n
      where n.id = d.id and d.on_duty <> (n.place <= ${count}) returning d.id
    )
    select pg_notify('sameday', 'faults:driver:' || id) from changed`;
}
