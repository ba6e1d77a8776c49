import { describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { MAX_ORDERS_PER_BATCH } from '../../src/http/schemas.ts';
import { MAX_STORE_CHARGE_RETRIES } from '../../src/payments/retry-charge.ts';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { storeOf } from '../harness/store.ts';
import { type Answer, northOf, orderOf, type Store } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere, { READ_RATE: '0' });
const { addStore, addFreeDriver, ask, place, show, untilOrder, chargesOf, cancel, assigned, cli } = world;
const photo = await jpeg();

type Facts = Record<string, unknown>;
const get = <Json = Facts>(store: Store, path: string) => ask<Json>(path, { key: store.apiKey });
const post = <Json = Facts>(store: Store, path: string, body?: unknown) => world.send<Json>(store, 'POST', path, body);
const codeOf = ({ status, body }: Answer<Facts>) => [status, (body.error as { code: string } | undefined)?.code];
const driverAt = (store: Store, meters = 300) => addFreeDriver(northOf(store.point, meters));

describe('an address that is about one order', () => {
  it.each(['/cancellation', '/photo'])('is 404 for an unknown one and for another store’s: GET %s', async (path) => {
    const { store, id } = await assigned();
    const other = await addStore();
    for (const unknown of [newId(), 'x']) {
      expect(codeOf(await get(store, `/orders/${unknown}${path}`))).toEqual([404, 'not_found']);
    }
    expect(codeOf(await get(other, `/orders/${id}${path}`))).toEqual([404, 'not_found']);
    expect(codeOf(await ask<Facts>(`/orders/${id}${path}`))).toEqual([401, 'unauthorized']);
  });

  it('is 404 for an unknown one and for another store’s: POST /charge', async () => {
    const { store, id } = await assigned({ card: TEST_CARDS.declined });
    const other = await addStore();
    await untilOrder(store, id, { payment_status: 'failed' });
    expect(codeOf(await post(store, `/orders/${newId()}/charge`))).toEqual([404, 'not_found']);
    expect(codeOf(await post(other, `/orders/${id}/charge`))).toEqual([404, 'not_found']);
    expect(await show(store, id)).toMatchObject({ payment_status: 'failed' });
  });
});

describe('a batch', () => {
  type Results = {
    results: { index: number; status: number; replayed?: true; order: { id: string; status: string } }[];
  };
  const batchOf = (store: Store, count: number, prefix = 'b') =>
    Array.from({ length: count }, (_, index) => ({ ...orderOf(store), idempotency_key: `${prefix}-${index}` }));
  const send = (store: Store, orders: unknown) => post<Results>(store, '/orders/batch', { orders });

  it('creates a hundred orders, of which as many get drivers as there are', async () => {
    const store = await addStore();
    await Promise.all([driverAt(store, 200), driverAt(store, 300), driverAt(store, 400)]);
    const { status, body } = await send(store, batchOf(store, MAX_ORDERS_PER_BATCH));
    expect(status).toBe(200);
    expect(body.results.map(({ index, status }) => [index, status])).toEqual(
      Array.from({ length: MAX_ORDERS_PER_BATCH }, (_, index) => [index, 201]),
    );
    expect(body.results.filter(({ order }) => order.status === 'driver_assigned')).toHaveLength(3);
    const [row] = await world.sql`
      select count(*)::int as orders, count(distinct e.xmin::text)::int as commits
      from orders o join order_events e on e.order_id = o.id and e.type = 'created'
      where o.retailer_id = ${store.retailerId}`;
    expect(row).toEqual({ orders: MAX_ORDERS_PER_BATCH, commits: 1 });
  });

  it('sent again makes nothing new, alone or by single orders with the same keys', async () => {
    const store = await addStore();
    const orders = batchOf(store, 5);
    const first = (await send(store, orders)).body.results;
    const again = (await send(store, [...orders, ...batchOf(store, 1, 'new')])).body.results;
    expect(again.map(({ status, replayed }) => [status, replayed])).toEqual([
      ...Array(5).fill([201, true]),
      [201, undefined],
    ]);
    expect(again.slice(0, 5).map(({ order }) => order.id)).toEqual(first.map(({ order }) => order.id));
    const single = await ask('/orders/create', {
      method: 'POST',
      key: store.apiKey,
      body: orderOf(store),
      headers: { 'idempotency-key': 'b-3' },
    });
    expect([single.status, single.headers.get('idempotent-replayed'), single.body.order.id]).toEqual([
      201,
      'true',
      first[3]?.order.id,
    ]);
  });

  it('sent twice at once makes each order once', async () => {
    const store = await addStore();
    const orders = batchOf(store, 30);
    const [one, other] = await Promise.all([send(store, orders), send(store, orders)]);
    const idsOf = ({ body }: Answer<Results>) => body.results.map(({ order }) => order.id);
    expect(idsOf(one)).toEqual(idsOf(other));
    const [row] = await world.sql`select count(*)::int as n from orders where retailer_id = ${store.retailerId}`;
    expect(row?.n).toBe(30);
  });

  it('whose client leaves loses nothing that its keys do not find again', async () => {
    const store = await addStore();
    const orders = batchOf(store, 50);
    await fetch(`${world.url}/orders/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${store.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ orders }),
      signal: AbortSignal.timeout(15),
    }).catch(() => undefined);
    const { results } = (await send(store, orders)).body;
    expect(results.map(({ status }) => status)).toEqual(Array(50).fill(201));
    const [row] = await world.sql`select count(*)::int as n from orders where retailer_id = ${store.retailerId}`;
    expect(row?.n).toBe(50);
  });

  it('of a store over its rate creates as many as it may, and 429 says so of the others', async () => {
    const store = await addStore();
    await storeOf(world.sql).setOrdersPerSecond(store.retailerId, 3);
    const { body, headers } = await send(store, batchOf(store, 10));
    expect(body.results.map(({ status }) => status)).toEqual([201, 201, 201, ...Array(7).fill(429)]);
    expect([headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual(['3', '0']);
  });
});

describe('a quote', () => {
  type Quoted = { quote: Facts };
  const quote = (store: Store, changes: Facts = {}) =>
    post<Quoted>(store, '/quotes', { ...orderOf(store), customer: undefined, ...changes });

  it('tells fee, distance and times, stores nothing and takes no driver', async () => {
    const store = await addStore();
    await driverAt(store);
    const rows = () => world.sql`select count(*)::int as n from orders`;
    const before = await rows();
    const { status, body } = await quote(store, { delivery_tier: 'priority' });
    expect(status).toBe(200);
    expect(body.quote).toEqual({
      serviceable: true,
      delivery_tier: 'priority',
      fee: 1299,
      currency: 'usd',
      distance_meters: expect.any(Number),
      driver_available: true,
      pickup_eta: { from: expect.any(String), to: expect.any(String) },
      delivery_eta: { from: expect.any(String), to: expect.any(String) },
      deliver_by: expect.any(String),
      estimated_delivery: body.quote.delivery_eta,
    });
    const { pickup_eta: pickup, delivery_eta: delivery } = body.quote as Record<string, Record<string, string>>;
    const ms = (text = '') => Date.parse(text);
    expect(ms(pickup?.from)).toBeLessThan(ms(pickup?.to));
    expect(ms(delivery?.from)).toBeGreaterThanOrEqual(ms(pickup?.from));
    expect(ms(delivery?.to)).toBeGreaterThan(ms(pickup?.to));
    expect(await rows()).toEqual(before);
    expect((await place(store)).body.order.status).toBe('driver_assigned');
    expect((await quote(store)).body.quote).toMatchObject({
      serviceable: true,
      driver_available: false,
      pickup_eta: null,
      delivery_eta: null,
    });
  });

  it('of an order that no driver would bring says why, in the fields of its refusal', async () => {
    const store = await addStore();
    const far = { dropoff_address: { line1: '1 Bishop St', city: 'Honolulu', state: 'HI', zip: '96813' } };
    const refused = await place(store, far);
    expect(refused.status).toBe(400);
    expect((await quote(store, far)).body.quote).toEqual({ serviceable: false, fields: refused.body.error.fields });
  });

  it('is 400 for bad fields, a customer’s included, 401 for another store, and needs no customer', async () => {
    const store = await addStore();
    expect(codeOf(await quote(store, { retailer_id: newId() }))).toEqual([401, 'unauthorized']);
    for (const customer of [null, {}, { name: 'Jo', email: 'jo@example.com', phone: '1' }]) {
      expect(codeOf(await quote(store, { customer }))).toEqual([400, 'invalid_request']);
    }
    const bad = await post<{ error: { fields: { field: string }[] } }>(store, '/quotes', {});
    expect(bad.body.error.fields.map(({ field }) => field)).toEqual([
      'retailer_id',
      'pickup_address',
      'dropoff_address',
    ]);
  });
});

describe('a preview of a cancellation', () => {
  it('says what cancelling then does, at each step', async () => {
    const store = await addStore();
    const preview = async (id: string) =>
      (await get<{ cancellation: Facts }>(store, `/orders/${id}/cancellation`)).body;
    const waiting = (await place(store)).body.order.id;
    expect(await preview(waiting)).toEqual({
      success: true,
      cancellation: {
        cancellable: true,
        reason_if_not: null,
        refund_cents: 0,
        fee_kept_cents: 0,
        payment_status: 'not_charged',
      },
    });
    await cancel(store, waiting);

    await driverAt(store);
    const { id } = (await place(store)).body.order;
    await untilOrder(store, id, { payment_status: 'paid' });
    expect(await preview(id)).toMatchObject({
      cancellation: { cancellable: true, refund_cents: 799, fee_kept_cents: 0 },
    });
    expect((await cancel(store, id)).status).toBe(200);
    await untilOrder(store, id, { payment_status: 'refunded' });
    expect(await preview(id)).toMatchObject({
      cancellation: { cancellable: false, reason_if_not: 'cancelled', refund_cents: 0, fee_kept_cents: 0 },
    });

    const carried = await assigned();
    await untilOrder(carried.store, carried.id, { payment_status: 'paid' });
    await carried.driver.pickUp(carried.id);
    const late = await get<{ cancellation: Facts }>(carried.store, `/orders/${carried.id}/cancellation`);
    expect(late.body.cancellation).toEqual({
      cancellable: false,
      reason_if_not: 'picked_up',
      refund_cents: 0,
      fee_kept_cents: 799,
      payment_status: 'paid',
    });
    expect((await cancel(carried.store, carried.id)).status).toBe(409);
  });
});

describe('a charge that its store has tried again', () => {
  const setCard = (store: Store, card: 'ok' | 'declined') =>
    storeOf(world.sql, 'cli').setCard(store.retailerId, TEST_CARDS[card].customer, TEST_CARDS[card].paymentMethod);

  it('is made once, on the card of now, and says who asked', async () => {
    const { store, id } = await assigned({ card: TEST_CARDS.declined });
    await untilOrder(store, id, { payment_status: 'failed' });
    await setCard(store, 'ok');
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(store, `/orders/${id}/charge`)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 202)?.body.order).toEqual({ id, payment_status: 'processing' });
    const shown = await untilOrder(store, id, { payment_status: 'paid' });
    expect(chargesOf(id).map(({ key, answer }) => [key, answer.kind])).toEqual([
      [`${id}:1`, 'declined'],
      [`${id}:2`, 'paid'],
    ]);
    expect(shown.events).toContainEqual(expect.objectContaining({ type: 'payment_retried', data: { by: 'store' } }));
    expect(codeOf(await post(store, `/orders/${id}/charge`, {}))).toEqual([409, 'illegal_transition']);
  });

  it('is tried again so often and not more', async () => {
    const { store, id } = await assigned({ card: TEST_CARDS.declined });
    for (let time = 0; time < MAX_STORE_CHARGE_RETRIES; time++) {
      await untilOrder(store, id, { payment_status: 'failed' });
      expect((await post(store, `/orders/${id}/charge`)).status).toBe(202);
    }
    await untilOrder(store, id, { payment_status: 'failed' });
    const refused = await post(store, `/orders/${id}/charge`);
    expect(codeOf(refused)).toEqual([409, 'illegal_transition']);
    expect(refused.body.message).toContain('as often as it may be');
    expect(chargesOf(id)).toHaveLength(1 + MAX_STORE_CHARGE_RETRIES);
  });

  it('is not, where the order was cancelled, and 400 for a body that is no object', async () => {
    const { store, id } = await assigned({ card: TEST_CARDS.declined });
    await untilOrder(store, id, { payment_status: 'failed' });
    expect(codeOf(await post(store, `/orders/${id}/charge`, []))).toEqual([400, 'malformed_json']);
    await cancel(store, id);
    expect(codeOf(await post(store, `/orders/${id}/charge`))).toEqual([409, 'illegal_transition']);
  });
});

describe('an account', () => {
  const account = async (store: Store) => (await get<{ account: Facts }>(store, '/account')).body.account;

  it('shows the store, its card, its unpaid orders and its rates', async () => {
    const store = await addStore({ name: 'Corner Books' });
    expect(await account(store)).toEqual({
      retailer_id: store.retailerId,
      name: 'Corner Books',
      status: 'active',
      mode: 'sandbox',
      card: 'set',
      unpaid_orders: 0,
      unpaid_orders_allowed: 3,
      payment_required: false,
      rate: { orders_per_second: null, reads_per_second: null },
    });
    const other = await addStore({ card: null });
    await storeOf(world.sql).setOrdersPerSecond(other.retailerId, 7);
    expect(await account(other)).toMatchObject({ card: 'none', rate: { orders_per_second: 7 } });
    expect(codeOf(await ask<Facts>('/account'))).toEqual([401, 'unauthorized']);
  });

  it('says when the card fails and a payment is required', async () => {
    const store = await addStore({ card: TEST_CARDS.declined });
    for (let n = 1; n <= 3; n++) {
      await driverAt(store);
      const { id } = (await place(store)).body.order;
      await untilOrder(store, id, { payment_status: 'failed' });
      expect(await account(store)).toMatchObject({ card: 'failing', unpaid_orders: n, payment_required: n === 3 });
    }
  });
});

describe('what a store sees on the way', () => {
  it('is the driver, the position that the customer sees, the arrival, and then the photo', async () => {
    const { store, driver, id, token } = await assigned();
    const sees = async () => {
      const tracked = await ask<{ order: { driver: { position: Facts | null } | null; arrival: Facts | null } }>(
        `/track/${token}/status`,
      );
      const { age_ms: _, ...position } = tracked.body.order.driver?.position ?? {};
      const shown = (await get<{ order: Facts }>(store, `/orders/${id}`)).body.order;
      expect(shown.driver_position ?? {}).toEqual(position);
      expect(shown.arrival === null).toBe(tracked.body.order.arrival === null);
      return shown;
    };
    await cli('driver', 'set-vehicle', driver.id, 'bike');
    expect(await sees()).toMatchObject({
      driver_id: driver.id,
      driver_name: 'Sam Rider',
      driver: { id: driver.id, first_name: 'Sam', vehicle: 'bike' },
      driver_position: { precision: 'approximate' },
    });
    await driver.pickUp(id);
    const exact = northOf(store.point, 321);
    await driver.at(exact);
    await expect.poll(sees).toMatchObject({ driver_position: { lat: exact.lat, lng: exact.lng, precision: 'exact' } });
    expect(codeOf(await get(store, `/orders/${id}/photo`))).toEqual([404, 'not_found']);

    expect((await driver.deliver(id, photo)).status).toBe(200);
    expect(await sees()).toMatchObject({ driver: { first_name: 'Sam' }, driver_position: null, arrival: null });
    const read = (path: string, headers = {}) => fetch(world.url + path, { headers });
    const mine = await read(`/orders/${id}/photo`, { authorization: `Bearer ${store.apiKey}` });
    expect([mine.status, mine.headers.get('content-type'), mine.headers.get('cache-control')]).toEqual([
      200,
      'image/jpeg',
      'private, max-age=300',
    ]);
    const theirs = await read(`/track/${token}/photo`);
    expect(Buffer.from(await mine.arrayBuffer())).toEqual(Buffer.from(await theirs.arrayBuffer()));
    expect(theirs.headers.get('cache-control')).toBe('no-store');
  });

  it('is no driver while an order waits, and a driver of a vehicle is added and listed', async () => {
    const store = await addStore();
    const { id } = (await place(store)).body.order;
    const shown = (await get<{ order: Facts }>(store, `/orders/${id}`)).body.order;
    expect(shown).toMatchObject({ driver: null, driver_position: null, arrival: null });
    const made = await cli('driver', 'create', '--name', 'Bo', '--phone', '+14155550188', '--vehicle', 'van');
    expect(await cli('driver', 'show', made.driver_id as string)).toMatchObject({ vehicle: 'van' });
    await expect(cli('driver', 'set-vehicle', made.driver_id as string, 'boat')).rejects.toThrow(
      'The vehicle is one of bike, car, van.',
    );
  });
});
