import { TIER_IDS } from '../../src/domain/tier.ts';
import { STORE_ADDRESS } from '../harness/order-world.ts';
import { orderBody } from '../harness/service.ts';
import type { Random } from '../harness/world.ts';
import type { Heard, Wanted } from './history.ts';
import { ask } from './phones.ts';
import { later, type World } from './world.ts';

const ATTEMPT_MS = 5_000;
const PATIENCE_MS = 60_000;
const PAUSE_MS = 100;
/** Told that nothing happened. */
const REFUSED: ReadonlySet<number> = new Set([429, 500, 503]);

/** What a client knows of a world. */
type Ordered = Pick<World, 'apis' | 'history' | 'isClosed'>;

let operations = 0;

/** A new order for any store; with this probability the customer consents to texts. */
export function anyOrder(
  { stores }: Pick<World, 'stores'>,
  random: Random,
  isKeyed: boolean,
  consent = 0.7,
): Wanted & { readonly body: string; readonly apiKey: string } {
  const op = ++operations;
  const any = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const store = any(stores);
  const customer = `Customer ${op}`;
  const smsOptIn = random() < consent;
  const body = orderBody(store.id, {
    customer: {
      name: customer,
      email: 'jordan@example.com',
      phone: `+1415${String(2_000_000 + op)}`,
      sms_opt_in: smsOptIn,
    },
    pickup_address: STORE_ADDRESS,
    dropoff_address: store.dropoff,
    delivery_tier: any(TIER_IDS),
  });
  const key = isKeyed ? `key-${op}` : null;
  return { op, retailerId: store.id, key, customer, smsOptIn, body: JSON.stringify(body), apiKey: store.apiKey };
}

export type Order = ReturnType<typeof anyOrder>;

/** What a reply to an order tells. */
export function heardOf(op: number, status: number, body: { readonly order?: unknown }): Heard {
  const outcome = status === 201 ? 'ok' : REFUSED.has(status) ? 'failed' : 'unknown';
  return { op, outcome, status, orderId: (body.order as { id: string } | undefined)?.id ?? null };
}

/** What is known without a reply. */
export const unheard = (op: number): Heard => ({ op, outcome: 'unknown', status: null, orderId: null });

/** Sends it once to one of the API processes and records the answer. */
export async function send(
  world: Pick<World, 'apis' | 'history'>,
  { op, key, body, apiKey }: Order,
  random: Random,
): Promise<Heard> {
  const api = world.apis[Math.floor(random() * world.apis.length)];
  const headers = key === null ? {} : { 'idempotency-key': key };
  const sent = { method: 'POST', key: apiKey, body, headers, withinMs: ATTEMPT_MS };
  const answer = await ask(`${api?.url()}/orders/create`, sent).catch(() => null);
  // What is not JSON is not the service's.
  const heard = answer?.body ? heardOf(op, answer.status, answer.body) : unheard(op);
  world.history.hears(heard);
  return heard;
}

/** An order with its driver; those that wait meanwhile are left alone. */
export async function givenOrder(world: World, random: Random) {
  for (;;) {
    const order = anyOrder(world, random, true);
    note(world, order);
    const { orderId } = await send(world, order, random);
    const [row] = await world.sql`select driver_id, tracking_token from orders where id = ${orderId}`;
    if (orderId === null || !row?.driver_id) continue;
    const { driver_id: driverId, tracking_token: trackingToken }: Record<string, string> = row;
    return { orderId, driverId, trackingToken, apiKey: order.apiKey };
  }
}

/** Records an order before it is sent. */
export function note(
  { history }: Pick<World, 'history'>,
  ...orders: readonly (Order & Pick<Wanted, 'repeats'>)[]
): void {
  history.wants(
    ...orders.map(({ op, retailerId, key, customer, smsOptIn, repeats = false }) => {
      return { op, retailerId, key, customer, smsOptIn, ...(repeats ? { repeats } : {}) };
    }),
  );
}

/**
 * Runs a client: with a key it sends until there is an order, without one it sends once. Returns a sentence
 * where it gave up, by default after a minute.
 */
export async function want(
  world: Ordered,
  order: Order,
  random: Random,
  patienceMs = PATIENCE_MS,
): Promise<string | null> {
  const { op, key } = order;
  note(world, order);
  const untilMs = performance.now() + patienceMs;
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
    const { outcome, status } = await send(world, order, random);
    if (outcome === 'ok' || key === null) return null;
    if (status !== null && status < 500 && status !== 429) return `client: operation ${op} was answered with ${status}`;
    if (world.isClosed()) return null;
    if (performance.now() > untilMs) return `client: operation ${op} got no order in ${patienceMs / 1_000} s`;
    await later(pauseMs * (0.5 + random()));
  }
}

export type RunningClients = {
  /** Stops sending and waits for every client; the sentences of those that gave up. */
  stop(): Promise<string[]>;
  sent(): number;
};

/** Starts clients at a steady rate; four of five have a key by default. */
export function startLoad(
  world: Ordered & Pick<World, 'stores'>,
  perSecond: number,
  random: Random,
  keyedShare = 0.8,
  next = () => anyOrder(world, random, random() < keyedShare),
  patienceMs = PATIENCE_MS,
): RunningClients {
  const wanting = new Set<Promise<void>>();
  const problems: string[] = [];
  let sent = 0;
  const timer = setInterval(() => {
    if (world.isClosed()) return clearInterval(timer);
    sent++;
    const one = want(world, next(), random, patienceMs).then((problem) => {
      if (problem !== null) problems.push(problem);
      wanting.delete(one);
    });
    wanting.add(one);
  }, 1_000 / perSecond);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(wanting);
      return problems;
    },
    sent: () => sent,
  };
}
