import { describe, expect, it } from 'vitest';
import { AdmissionControl } from '../../src/dispatch/admission.ts';
import { CommitBacklog } from '../../src/dispatch/commit-backlog.ts';
import type { PlaceOnceOutcome } from '../../src/dispatch/place-once.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { newId, newTrackingToken } from '../../src/domain/ids.ts';
import type { PlaceOrder } from '../../src/domain/order.ts';
import { createReplays } from '../../src/http/replays.ts';
import { MAX_BATCH_BYTES, MAX_BATCHES_PER_STORE, ordersBatch } from '../../src/http/routes/orders-batch.ts';
import { type OrderPlacing, ordersCreate } from '../../src/http/routes/orders-create.ts';
import { MAX_ORDERS_PER_BATCH } from '../../src/http/schemas.ts';
import { createReadRates } from '../../src/http/store-rate.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../src/limits.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import { orderBody } from '../harness/service.ts';
import { gate, letIn, postJson, startServer } from './support.ts';

const retailerId = newId();
const key = { retailerId, ordersPerSecond: null } as RetailerKey;
const bodyOf = (changes: Record<string, unknown> = {}) => orderBody(retailerId, changes);
type Result = {
  readonly index: number;
  readonly status: number;
  readonly order?: { readonly id: string };
  readonly replayed?: true;
  readonly retry_after_seconds?: number;
  readonly error?: { readonly code: string; readonly fields: readonly { field: string; message: string }[] };
};
type Placed = { readonly request: PlaceOrder; readonly key: string | null };

const TRACKING_TOKEN = newTrackingToken();
/** An id for each key. */
const idOf = (text: string) =>
  `00000000-0000-7000-8000-${Buffer.from(text).toString('hex').padStart(12, '0').slice(-12)}`;

const created = (key: string): PlaceOnceOutcome => ({
  kind: 'created',
  order: {
    id: idOf(key),
    status: 'pending_dispatch',
    tierId: 'standard',
    feeCents: 799,
    paymentStatus: 'not_charged',
    trackingToken: TRACKING_TOKEN,
    createdAt: new Date(0),
    externalId: null,
    deliverBy: new Date(0),
    estimatedDelivery: null,
    isForLater: false,
  },
});

/** The rate of a store whose seconds end as the test says; 0 for no bound. */
function rateBySteps(perSecond: number) {
  let counted = 0;
  const refusal = new ServiceError('rate_limited', 'Too many.', { retryAfterSeconds: 1 });
  return {
    count: async () => (perSecond === 0 ? null : { headers: {}, refusal: ++counted > perSecond ? refusal : null }),
    nextSecond() {
      counted = 0;
    },
  };
}

/** The routes of a batch and of one order, on a process that places orders as told. */
async function world(
  options: {
    place?: (placed: Placed) => Promise<PlaceOnceOutcome>;
    perSecond?: number;
    lookUpsPerSecond?: number;
    unstored?: number;
  } = {},
) {
  const { place = async ({ key }) => created(key ?? ''), perSecond = 0, unstored = 0 } = options;
  const placed: Placed[] = [];
  const lookedUp: (readonly string[])[] = [];
  const backlog = new CommitBacklog();
  backlog.started = unstored;
  const dispatch: OrderPlacing = {
    placeRequest(request, _key, identity) {
      placed.push({ request, key: identity.key });
      return place({ request, key: identity.key });
    },
    admission: new AdmissionControl(60_000, backlog),
  };
  const logged: string[] = [];
  const logger = { error: (_: unknown, message: string) => void logged.push(message) };
  const trackingUrl = () => 'http://localhost';
  const rates = rateBySteps(perSecond);
  const replays = createReplays(rateBySteps(options.lookUpsPerSecond ?? 0), async (_retailerId, orders) => {
    lookedUp.push(orders.map(({ key }) => key));
    const before = orders.filter(({ key }) => placed.some((one) => one.key === key));
    return new Map(before.map(({ key }) => [key, { kind: 'replayed', order: earlierOrder(key) }]));
  });
  const shared = { stores: letIn(key), rates, replays, dispatch, trackingUrl, isSandbox: false };
  const routes = [
    ordersBatch({ ...shared, logger }),
    ordersCreate({ ...shared, reads: createReadRates(0), store: { isKeyGood: async () => true } }),
  ];
  const { url } = await startServer({ routes });
  const send = async (body: object | string, path = '/orders/batch', headers = {}) => {
    const answer = await postJson(url + path, body, headers);
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as never };
  };
  const batch = async (orders: readonly unknown[]) => {
    const answer = await send({ orders });
    expect(answer.status).toBe(200);
    return (answer.body as { results: Result[] }).results;
  };
  return { placed, lookedUp, send, batch, logged, backlog, nextSecond: rates.nextSecond };
}

const order = (idempotencyKey: unknown, changes: Record<string, unknown> = {}) =>
  bodyOf({ idempotency_key: idempotencyKey, ...changes });
const fieldsOf = (result: Result | undefined) => result?.error?.fields.map(({ field }) => field);

describe('a batch', () => {
  it('has the results of its orders in the order sent, each as its own request would be answered', async () => {
    const second = gate();
    const { batch, send } = await world({
      async place({ key }) {
        // The second one is done first.
        if (key === 'a') await second.opened;
        else second.open();
        return created(key ?? '');
      },
    });
    const results = await batch([order('a'), order('b')]);
    const alone = await send(bodyOf(), '/orders/create', { 'idempotency-key': 'b' });
    expect(results.map(({ index, status, order }) => [index, status, order?.id])).toEqual([
      [0, 201, idOf('a')],
      [1, 201, idOf('b')],
    ]);
    expect(results[1]).toEqual({ index: 1, status: 201, ...(alone.body as object) });
  });

  it('places each order under its own key, without spaces around it, and with the fields of a single one', async () => {
    const { batch, placed } = await world();
    await batch([order(' first '), order('second', { delivery_tier: 'priority' })]);
    expect(placed.map(({ key, request }) => [key, request.tierId])).toEqual([
      ['first', 'standard'],
      ['second', 'priority'],
    ]);
  });

  it('creates the good orders among bad ones, and names each bad field by its path', async () => {
    const { batch, placed } = await world();
    const results = await batch([
      order('good'),
      order('bad', { customer: { name: 'Jo', email: 'jo@example.com', phone: '1' }, delivery_tier: 'express' }),
      'no order',
      order('also good'),
    ]);
    expect(results.map(({ status }) => status)).toEqual([201, 400, 400, 201]);
    expect(fieldsOf(results[1])).toEqual(['orders[1].customer.phone', 'orders[1].delivery_tier']);
    expect(fieldsOf(results[2])).toEqual(['orders[2]']);
    expect(placed.map(({ key }) => key)).toEqual(['good', 'also good']);
  });

  it.each([
    ['missing', undefined],
    ['null', null],
    ['a number', 7],
    ['empty', ''],
    ['blank', '  '],
    ['too long', 'k'.repeat(MAX_IDEMPOTENCY_KEY_LENGTH + 1)],
    ['not ASCII', 'schlüssel'],
  ])('refuses an order whose key is %s by that field', async (_what, idempotencyKey) => {
    const { batch, placed } = await world();
    const results = await batch([order('a'), order('b'), order('c'), order(idempotencyKey)]);
    expect(results.map(({ status }) => status)).toEqual([201, 201, 201, 400]);
    expect(fieldsOf(results[3])).toEqual(['orders[3].idempotency_key']);
    expect(placed).toHaveLength(3);
  });

  it('warns of each order’s unknown fields by their path, and not of its key', async () => {
    const { batch } = await world();
    const results = await batch([order('a'), order('b', { notes: 'ring twice' })]);
    expect(results.map((result) => 'warnings' in result && result.warnings)).toEqual([
      false,
      [{ field: 'orders[1].notes', message: 'is not a field of an order; it was ignored' }],
    ]);
  });

  it('refuses the second of two equal keys, also where the first order is bad', async () => {
    const { batch, placed } = await world();
    const results = await batch([order('a'), order('a '), order('b', { pickup_address: '' }), order('b')]);
    expect(results.map(({ status }) => status)).toEqual([201, 400, 400, 400]);
    expect(fieldsOf(results[1])).toEqual(['orders[1].idempotency_key']);
    expect(fieldsOf(results[3])).toEqual(['orders[3].idempotency_key']);
    expect(placed).toHaveLength(1);
  });

  it('tells every outcome as its own status', async () => {
    const outcomes: Record<string, PlaceOnceOutcome> = {
      replayed: { kind: 'replayed', order: earlierOrder('old') },
      reused: { kind: 'key_reused', orderId: newId() },
      dead: { kind: 'unauthorized' },
      far: { kind: 'unserviceable', fields: [{ field: 'dropoff_address.zip', message: 'is far' }] },
      full: { kind: 'queue_full' },
      away: { kind: 'unavailable' },
      open: { kind: 'outcome_unknown' },
      broken: { kind: 'internal' },
    };
    const { batch } = await world({ place: async ({ key }) => outcomes[key ?? ''] as PlaceOnceOutcome });
    const results = await batch(Object.keys(outcomes).map((each) => order(each)));
    expect(results.map(({ status, error }) => [status, error?.code])).toEqual([
      [201, undefined],
      [409, 'idempotency_key_reused'],
      [401, 'unauthorized'],
      [400, 'invalid_request'],
      [503, 'queue_full'],
      [503, 'unavailable'],
      [504, 'outcome_unknown'],
      [500, 'internal'],
    ]);
    expect(results.map(({ replayed }) => replayed)).toEqual([true, ...Array(7).fill(undefined)]);
    expect(fieldsOf(results[3])).toEqual(['orders[3].dropoff_address.zip']);
    expect(results[4]?.retry_after_seconds).toBe(1);
  });

  it('counts what it created and what was there before', async () => {
    const { send } = await world({
      async place({ key }) {
        if (key === 'bad') return { kind: 'queue_full' };
        if (key === 'new') return created(key);
        return { kind: 'replayed', order: earlierOrder('old') };
      },
    });
    const messageOf = async (...keys: string[]) =>
      ((await send({ orders: keys.map((key) => order(key)) })).body as { message: string }).message;
    expect(await messageOf('new', 'bad', 'before')).toBe(
      '1 of 3 orders were created, and 1 had been created before; each has its result.',
    );
    expect(await messageOf('new')).toBe('1 of 1 orders were created; each has its result.');
  });

  it('answers for the others where one fails by a mistake of ours, which is logged', async () => {
    const { batch, logged } = await world({
      place: ({ key }) => (key === 'b' ? Promise.reject(new TypeError('no')) : Promise.resolve(created('x'))),
    });
    const results = await batch([order('a'), order('b'), order('c')]);
    expect(results.map(({ status, error }) => [status, error?.code])).toEqual([
      [201, undefined],
      [500, 'internal'],
      [201, undefined],
    ]);
    expect(logged).toEqual(['an order of a batch failed']);
  });

  it('counts each good order against the store’s rate; what exceeds it is 429 and not placed', async () => {
    const { batch, placed } = await world({ perSecond: 2 });
    const results = await batch([order('a'), order('bad', { customer: 1 }), order('b'), order('c'), order('d')]);
    expect(results.map(({ status }) => status)).toEqual([201, 400, 201, 429, 429]);
    expect(results[3]).toMatchObject({ error: { code: 'rate_limited', retryable: true }, retry_after_seconds: 1 });
    expect(placed.map(({ key }) => key)).toEqual(['a', 'b']);
  });

  it('larger than the rate of its store is whole after it was sent again so often: a replay costs no rate', async () => {
    const { batch, placed, lookedUp, nextSecond } = await world({ perSecond: 3 });
    const keys = Array.from({ length: 10 }, (_, index) => String(index));
    const sendAll = async () => (await batch(keys.map((each) => order(each)))).map(({ status }) => status);
    const seen: number[] = [];
    for (let second = 0; second < 4; second++) {
      nextSecond();
      seen.push((await sendAll()).filter((status) => status === 201).length);
    }
    expect(seen).toEqual([3, 6, 9, 10]);
    expect(placed.map(({ key }) => key)).toEqual(keys);
    expect(lookedUp).toEqual(Array(4).fill(keys));
    // All are replays by now, also where the rate is used up.
    expect((await batch(keys.map((each) => order(each)))).map(({ replayed }) => replayed)).toEqual(
      Array(10).fill(true),
    );
    expect(placed).toHaveLength(10);
  });

  it('within the rate looks nothing up', async () => {
    const { batch, lookedUp } = await world({ perSecond: 3 });
    await batch(['a', 'b', 'c'].map((each) => order(each)));
    expect(lookedUp).toEqual([]);
  });

  it('starts its orders together once each had a turn, behind those that came before', async () => {
    const started: string[] = [];
    const { send } = await world({
      async place({ key }) {
        started.push(key ?? 'single');
        // A commit that begins now would hold those that started in this turn of the event loop.
        if (key === '0') setImmediate(() => started.push('commit'));
        return created('x');
      },
    });
    const keys = Array.from({ length: MAX_ORDERS_PER_BATCH }, (_, index) => String(index));
    await send({ orders: keys.map((each) => order(each)) });
    await expect.poll(() => started).toEqual([...keys, 'commit']);
  });

  it('answers 503 for the orders that find no turn', async () => {
    const { batch, backlog, placed } = await world({ unstored: 2_190 });
    const results = await batch(Array.from({ length: 50 }, (_, index) => order(String(index))));
    const statuses = results.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201).length).toBe(placed.length);
    expect(placed.length).toBeGreaterThan(0);
    expect(new Set(statuses)).toEqual(new Set([201, 503]));
    expect(backlog.queued).toBe(0);
  });
});

function earlierOrder(id: string) {
  return { ...createdOrder(id), statusNow: 'delivered', isPlanned: false } as const;
}

function createdOrder(id: string) {
  const outcome = created(id);
  if (outcome.kind !== 'created') throw new Error('it was');
  return outcome.order;
}

describe('a batch as a whole', () => {
  it.each([
    ['no orders', {}],
    ['null', { orders: null }],
    ['an object', { orders: { 0: {} } }],
    ['an empty list', { orders: [] }],
    ['one order too many', { orders: Array.from({ length: MAX_ORDERS_PER_BATCH + 1 }, () => ({})) }],
  ])('with %s is 400 by that field, and nothing is done', async (_what, body) => {
    const { send, placed } = await world();
    const answer = await send(body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: { code: 'invalid_request', fields: [{ field: 'orders' }] } });
    expect(placed).toEqual([]);
  });

  it('is 401 where one order names another store, and nothing is done', async () => {
    const { send, placed } = await world();
    const answer = await send({ orders: [order('a'), { retailer_id: newId() }] });
    expect([answer.status, placed]).toEqual([401, []]);
  });

  it('is 400 where it is not JSON, and 413 above its bound', async () => {
    const { send } = await world();
    expect((await send('{"orders":[')).body).toMatchObject({ error: { code: 'malformed_json' } });
    const text = JSON.stringify({ orders: [order('a')] });
    const padded = (bytes: number) => text.padEnd(bytes);
    expect((await send(padded(MAX_BATCH_BYTES))).status).toBe(200);
    expect((await send(padded(MAX_BATCH_BYTES + 1))).status).toBe(413);
  });

  it('is 503 while orders pile up', async () => {
    const { send } = await world({ unstored: Number.POSITIVE_INFINITY });
    expect((await send({ orders: [order('a')] })).status).toBe(503);
  });

  it('is 429 while as many of its store are at work as may be', async () => {
    const end = gate<PlaceOnceOutcome>();
    const { send, placed } = await world({ place: () => end.opened });
    const busy = Array.from({ length: MAX_BATCHES_PER_STORE }, (_, index) => send({ orders: [order(String(index))] }));
    await expect.poll(() => placed.length).toBe(MAX_BATCHES_PER_STORE);
    const refused = await send({ orders: [order('more')] });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    end.open(created('x'));
    for (const { status } of await Promise.all(busy)) expect(status).toBe(200);
    expect((await send({ orders: [order('more')] })).status).toBe(200);
  });
});

describe('a single order over the rate of its store', () => {
  const create = (sender: Awaited<ReturnType<typeof world>>, key: string) =>
    sender.send(bodyOf(), '/orders/create', { 'idempotency-key': key });

  it('is the order that its key created before, and 429 where there is none', async () => {
    const service = await world({ perSecond: 1 });
    expect((await create(service, 'a')).status).toBe(201);
    const [again, other] = [await create(service, 'a'), await create(service, 'c')];
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect([other.status, other.headers.get('retry-after')]).toEqual([429, '1']);
    expect(service.placed.map(({ key }) => key)).toEqual(['a']);
  });

  it('is 429 without a look-up where it has no key, and where look-ups are over their rate', async () => {
    const { send, lookedUp, placed } = await world({ perSecond: 1, lookUpsPerSecond: 1 });
    const sent = [1, 2, 3].map(() => send(bodyOf(), '/orders/create'));
    expect((await Promise.all(sent)).map(({ status }) => status).toSorted()).toEqual([201, 429, 429]);
    expect(lookedUp).toEqual([]);
    const keyed = ['a', 'b', 'c'].map((key) => send(bodyOf(), '/orders/create', { 'idempotency-key': key }));
    expect((await Promise.all(keyed)).map(({ status }) => status)).toEqual([429, 429, 429]);
    expect([lookedUp.length, placed.length]).toEqual([1, 1]);
  });
});
