import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { AdmissionControl } from '../../src/dispatch/admission.ts';
import { CommitBacklog } from '../../src/dispatch/commit-backlog.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { newId } from '../../src/domain/ids.ts';
import { createListTurns } from '../../src/http/list-turns.ts';
import { storeReader } from '../../src/http/readers.ts';
import { type AccountSettings, accountRoute } from '../../src/http/routes/account.ts';
import { ordersCancel } from '../../src/http/routes/orders-cancel.ts';
import { ordersCancellation } from '../../src/http/routes/orders-cancellation.ts';
import { ordersCreate } from '../../src/http/routes/orders-create.ts';
import { ordersGet } from '../../src/http/routes/orders-get.ts';
import { ordersList } from '../../src/http/routes/orders-list.ts';
import { quotesRoute } from '../../src/http/routes/quotes.ts';
import { createReadRates, createStoreRates, type StoreRate } from '../../src/http/store-rate.ts';
import { ordersPhoto } from '../../src/photos/orders-photo.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import { orderBody } from '../harness/service.ts';
import { letIn, postJson, startServer } from './support.ts';

describe('the rate of a store', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const store = (ordersPerSecond: number | null) => ({ retailerId: newId(), ordersPerSecond });
  const refusals = async (asked: readonly Promise<StoreRate | null>[]) =>
    (await Promise.all(asked)).map((rate) => rate?.refusal?.code ?? null);

  it('lets so many orders pass in a second, and as many in the next', async () => {
    const rates = createStoreRates(50);
    const busy = store(2);
    const four = () => refusals([rates.count(busy), rates.count(busy), rates.count(busy), rates.count(busy)]);
    expect(await four()).toEqual([null, null, 'rate_limited', 'rate_limited']);
    vi.advanceTimersByTime(999);
    expect(await refusals([rates.count(busy)])).toEqual(['rate_limited']);
    vi.advanceTimersByTime(1);
    expect(await four()).toEqual([null, null, 'rate_limited', 'rate_limited']);
  });

  it('is its own: another store is not held up', async () => {
    const rates = createStoreRates(1);
    const [one, other] = [store(null), store(null)];
    expect(await refusals([rates.count(one), rates.count(one), rates.count(other)])).toEqual([
      null,
      'rate_limited',
      null,
    ]);
  });

  it('is what holds for all where it has none of its own; 0 is no bound', async () => {
    expect(await createStoreRates(0).count(store(null))).toBeNull();
    expect(await createStoreRates(5).count(store(0))).toBeNull();
    expect((await createStoreRates(5).count(store(null)))?.headers['RateLimit-Limit']).toBe('5');
    expect((await createStoreRates(0).count(store(7)))?.headers['RateLimit-Limit']).toBe('7');
  });

  it('tells limit, rest and when the rest is whole again', async () => {
    const rates = createStoreRates(2);
    const one = store(null);
    const told = [await rates.count(one), await rates.count(one), await rates.count(one)].map((rate) => rate?.headers);
    const common = { 'RateLimit-Limit': '2', 'RateLimit-Reset': '1', 'RateLimit-Policy': '2;w=1' };
    expect(told).toEqual(['1', '0', '0'].map((rest) => ({ ...common, 'RateLimit-Remaining': rest })));
  });

  it('takes memory only for the stores of the last second', async () => {
    const rates = createStoreRates(2);
    await Promise.all(Array.from({ length: 1_000 }, () => rates.count(store(null))));
    expect(vi.getTimerCount()).toBe(1_000);
    vi.advanceTimersByTime(1_000);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('creating an order', () => {
  const retailerId = newId();
  const headers = { 'RateLimit-Limit': '2', 'RateLimit-Remaining': '0' };
  const refusal = new ServiceError('rate_limited', 'Too many.', { retryAfterSeconds: 7 });

  /**
   * The route for a store whose rate is as told; how often it was counted, and how often an order was placed.
   */
  async function world(rate: StoreRate | null, isOverloaded = false) {
    const counts = { rated: 0, placed: 0, tested: 0 };
    const backlog = new CommitBacklog();
    if (isOverloaded) backlog.started = Number.POSITIVE_INFINITY;
    const route = ordersCreate({
      isSandbox: false,
      stores: letIn({ retailerId } as RetailerKey),
      rates: {
        async count() {
          counts.rated++;
          return rate;
        },
      },
      reads: createReadRates(1),
      replays: async () => new Map(),
      dispatch: {
        async placeRequest() {
          counts.placed++;
          return { kind: 'unavailable' };
        },
        admission: new AdmissionControl(60_000, backlog),
      },
      store: {
        async isKeyGood() {
          counts.tested++;
          return true;
        },
      },
      trackingUrl: () => 'http://localhost',
    });
    const { url } = await startServer({ routes: [route] });
    return { counts, post: (body: object) => postJson(`${url}/orders/create`, body) };
  }

  it('over its store’s rate is 429 with Retry-After, and nothing is done', async () => {
    const { post, counts } = await world({ headers, refusal });
    const answer = await post(orderBody(retailerId));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '7']);
    expect(await answer.json()).toMatchObject({ error: { code: 'rate_limited', retryable: true } });
    expect(answer.headers.get('ratelimit-limit')).toBe('2');
    expect(counts).toMatchObject({ rated: 1, placed: 0 });
  });

  it('tells the rate with every reply that was counted, refusals of other kinds too', async () => {
    const { post } = await world({ headers, refusal: null });
    const answer = await post(orderBody(retailerId));
    expect([answer.status, answer.headers.get('ratelimit-remaining')]).toEqual([503, '0']);
  });

  it('says nothing of rates where the store has none', async () => {
    const { post } = await world(null);
    expect([...(await post(orderBody(retailerId))).headers.keys()].filter((name) => /^ratelimit/.test(name))).toEqual(
      [],
    );
  });

  it('is 503 with Retry-After where too many wait already, before its body is looked at or anything counted', async () => {
    const { post, counts } = await world({ headers, refusal }, true);
    const answer = await post(orderBody(retailerId));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await post({ retailer_id: retailerId })).status).toBe(503);
    expect(counts).toEqual({ rated: 0, placed: 0, tested: 0 });
  });

  it('that another check refuses is not counted', async () => {
    const { post, counts } = await world({ headers, refusal });
    expect((await post({ retailer_id: retailerId })).status).toBe(400);
    expect((await post({ retailer_id: newId() })).status).toBe(401);
    expect(counts).toMatchObject({ rated: 0, placed: 0 });
  });

  it('a test of the key counts as a read, before the tables are asked', async () => {
    const { post, counts } = await world(null);
    const answers = await Promise.all([1, 2].map(() => post({ retailer_id: retailerId })));
    const [good, refused] = answers.toSorted((one, other) => one.status - other.status);
    expect([good?.status, good?.headers.get('ratelimit-remaining')]).toEqual([400, '0']);
    expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([429, '1']);
    expect(counts.tested).toBe(1);
  });
});

test('cancelling as many orders a second as a store may create is 429 after that, and then asks nothing', async () => {
  const key = { retailerId: newId(), ordersPerSecond: 2 } as RetailerKey;
  let asked = 0;
  const cancelOrder = async () => {
    asked++;
    return { kind: 'already' } as const;
  };
  const rates = createStoreRates(50, 'cancels');
  const { url } = await startServer({
    routes: [ordersCancel({ stores: letIn(key), rates, dispatch: { cancelOrder } })],
  });
  const cancel = (body: string) => postJson(`${url}/orders/${newId()}/cancel`, body);
  expect((await cancel('{}')).status).toBe(400);
  const answers = await Promise.all([1, 2, 3].map(() => cancel('{"reason":"duplicate"}')));
  expect([answers.map(({ status }) => status).toSorted(), asked]).toEqual([[200, 200, 429], 2]);
  const refused = answers.find(({ status }) => status === 429);
  expect([refused?.headers.get('retry-after'), refused?.headers.get('ratelimit-limit')]).toEqual(['1', '2']);
  expect(await refused?.json()).toMatchObject({
    message: 'You may cancel 2 orders a second; this time none was cancelled. Try again in a moment.',
    error: { code: 'rate_limited', retryable: true },
  });
});

describe('reading', () => {
  const key = { retailerId: newId(), ordersPerSecond: 1_000 } as RetailerKey;
  const stores = letIn(key);
  const readers = letIn(storeReader(key));
  const none = async () => ({ orders: [], next: null });
  const store = {
    findStoreOrder: async () => null,
    listStoreOrders: none,
    listOrdersOfStores: none,
    findAccount: async () => null,
    findCancellable: async () => null,
  };

  it.each([
    ['one order', `/orders/${newId()}`, 404],
    ['a list', '/orders', 200],
    ['an account', '/account', 401],
    ['a cancellation', `/orders/${newId()}/cancellation`, 404],
    ['a photo', `/orders/${newId()}/photo`, 404],
  ])('%s counts against the rate of reads, whatever orders the store may create', async (_what, path, status) => {
    const reads = createReadRates(2);
    const matcher = { whyWaiting: () => undefined, driver: () => undefined };
    const trackingUrl = () => 'http://localhost';
    const routes = [
      ordersGet({ stores: readers, reads, store, matcher, trackingUrl, now: () => 0 }),
      ordersList({ stores: readers, reads, turns: createListTurns(), store, matcher, now: () => 0 }),
      accountRoute({ stores, reads, store, settings: {} as AccountSettings }),
      ordersCancellation({ stores, reads, store }),
      ordersPhoto({ stores, reads, photos: { findOf: async () => null } }),
    ];
    const { url } = await startServer({ routes });
    const answers = await Promise.all([1, 2, 3].map(() => fetch(url + path)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([status, status, 429].sort());
    const refused = answers.find((answer) => answer.status === 429);
    expect(refused?.headers.get('ratelimit-limit')).toBe('2');
    expect(await refused?.json()).toMatchObject({
      message: 'You may read 2 times a second; this time nothing was read. Try again in a moment.',
    });
  });

  it('a quote counts as well, once its body is good', async () => {
    const retailerId = newId();
    const key = { retailerId } as RetailerKey;
    const quoteOrder = async () => ({ kind: 'unserviceable', fields: [] }) as const;
    const quotes = quotesRoute({
      stores: letIn(key),
      reads: createReadRates(2),
      dispatch: { quoteOrder },
      isSandbox: false,
    });
    const { url } = await startServer({ routes: [quotes] });
    const ask = async (body: object) => (await postJson(`${url}/quotes`, body)).status;
    const statuses: number[] = [];
    for (const body of [{}, { retailer_id: newId() }]) statuses.push(await ask(body));
    for (let time = 0; time < 3; time++) statuses.push(await ask(orderBody(retailerId)));
    expect(statuses).toEqual([400, 401, 200, 200, 429]);
  });
});
