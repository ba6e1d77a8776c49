import { beforeAll, describe, expect, inject, it } from 'vitest';
import { hashSecret, newId, newSecret } from '../../src/domain/ids.ts';
import { connect } from '../../src/postgres/connect.ts';
import { orderBody } from '../harness/service.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { storeOf } from '../harness/store.ts';
import { type Answer, type Body, orderOf, type Store } from './clients.ts';
import { useService } from './world.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UTC_MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const SUPPORT = 'keys@sameday.test';

const world = useService(startServiceHere, { SUPPORT_EMAIL: SUPPORT });
const { addStore, ask, place, show } = world;
let store: Store;

beforeAll(async () => {
  store = await addStore({ point: { lat: 37.76415, lng: -122.41957 } });
});

const create = (body: unknown, options: { key?: string | undefined; headers?: Record<string, string> } = {}) =>
  ask('/orders/create', {
    method: 'POST',
    body,
    key: 'key' in options ? (options.key as string) : store.apiKey,
    ...(options.headers ? { headers: options.headers } : {}),
  });

/** Rows of every table that a creation writes. */
async function rows(): Promise<Record<string, number>> {
  const [counts] = await world.sql`
    select (select count(*)::int from orders) as orders, (select count(*)::int from customers) as customers,
      (select count(*)::int from dropoff_addresses) as addresses, (select count(*)::int from order_events where type = 'created') as events,
      (select count(*)::int from outbox) as outbox`;
  return { ...counts };
}

function expectError(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.body?.error?.code], answer.text).toEqual([status, code]);
  expect(Object.keys(answer.body).toSorted()).toEqual(['error', 'message', 'request_id', 'success']);
  expect(answer.body).toEqual({
    success: false,
    message: expect.stringMatching(/\S/),
    error: { code, retryable: status >= 500 || status === 429, fields: expect.any(Array) },
    request_id: answer.headers.get('x-request-id'),
  });
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(answer.body.request_id).toMatch(UUID);
}

const badFields = (answer: Answer): string[] => answer.body.error.fields.map(({ field }) => field).toSorted();

describe('a created order', () => {
  it('is answered with 201 and exactly what the contract shows, its tracking link and the store’s number', async () => {
    const beforeMs = Date.now();
    const answer = await place(store);
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body)).toEqual(['success', 'message', 'order']);
    expect(answer.body).toEqual({
      success: true,
      message: expect.stringMatching(/\S/),
      order: {
        id: expect.stringMatching(UUID),
        status: 'pending_dispatch',
        delivery_tier: 'standard',
        delivery_fee: 799,
        payment_status: 'not_charged',
        tracking_token: expect.stringMatching(/^[\w-]{24}$/),
        created_at: expect.stringMatching(UTC_MILLISECONDS),
        // Beside the contract, which lets a reply hold more.
        tracking_url: `${world.url}/track/${answer.body.order.tracking_token}`,
        external_id: null,
        deliver_by: expect.stringMatching(UTC_MILLISECONDS),
        estimated_delivery: null,
        waiting_because: expect.stringMatching(/^[a-z_]+$/),
      },
    });
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.headers.get('x-request-id')).toMatch(UUID);
    expect(answer.headers.get('x-sameday-mode')).toBe('sandbox');
    const [row] = await world.sql`select created_at, retailer_id from orders where id = ${answer.body.order.id}`;
    expect(row?.created_at.toISOString()).toBe(answer.body.order.created_at);
    expect(row?.retailer_id).toBe(store.retailerId);
    const createdMs = Date.parse(answer.body.order.created_at);
    expect(createdMs).toBeGreaterThan(beforeMs - 60_000);
    expect(createdMs).toBeLessThan(Date.now() + 60_000);
  });

  it('has an id and a token of its own every time, though the body is the same', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => place(store)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    expect(new Set(answers.map(({ body }) => body.order.id)).size).toBe(20);
    expect(new Set(answers.map(({ body }) => body.order.tracking_token)).size).toBe(20);
  });

  it('keeps every field of the customer and of the drop-off as sent', async () => {
    const customer = { name: 'Ada King', email: 'ada@example.org', phone: '+442079460123', sms_opt_in: false };
    const dropoff = { line1: '1 First St', line2: 'Floor 2', city: 'Oakland', state: 'CA', zip: '94607-1234' };
    const { body } = await place(store, { customer, dropoff_address: dropoff });
    const shown = await show(store, body.order.id);
    expect(shown.customer).toEqual(customer);
    expect(shown.dropoff_address).toEqual(dropoff);
  });

  it('is not texted where sms_opt_in is left out', async () => {
    const customer = { name: 'Ada King', email: 'ada@example.org', phone: '+442079460123' };
    const { body } = await place(store, { customer });
    expect(await show(store, body.order.id)).toMatchObject({
      customer: { sms_opt_in: false },
      sms_status: 'none',
    });
  });
});

describe('the delivery tier', () => {
  it('is standard where none is sent', async () => {
    const body = orderBody(store.retailerId);
    expect(body).not.toHaveProperty('delivery_tier');
    expect((await create(body)).body.order).toMatchObject({ delivery_tier: 'standard', delivery_fee: 799 });
  });

  it.each(['standard', 'priority', 'scheduled'])('%s is echoed, with its fee from the tier table', async (tier) => {
    const [row] = await world.sql`select fee_cents from tiers where id = ${tier}`;
    const answer = await place(store, { delivery_tier: tier });
    expect(answer.status).toBe(201);
    expect(answer.body.order).toMatchObject({ delivery_tier: tier, delivery_fee: row?.fee_cents });
    expect(Number.isInteger(answer.body.order.delivery_fee)).toBe(true);
  });

  it('is refused with 400 where there is none of that name, and nothing is stored', async () => {
    const before = await rows();
    const answer = await place(store, { delivery_tier: 'express' });
    expectError(answer, 400, 'invalid_request');
    expect(badFields(answer)).toEqual(['delivery_tier']);
    expect(await rows()).toEqual(before);
  });
});

describe('what a caller sends beside the contract', () => {
  it.each([1, 0, -500, 79_900, '1', null, 7.99, { amount: 1 }])('never changes the fee (%j)', async (amount) => {
    const names = [
      'delivery_fee',
      'delivery_fee_cents',
      'fee',
      'fee_cents',
      'amount',
      'amount_cents',
      'price',
      'total',
    ];
    const guesses = Object.fromEntries([...names, 'cost', 'tip', 'discount'].map((name) => [name, amount]));
    const { customer, dropoff_address } = orderBody(store.retailerId) as Record<string, object>;
    const answer = await place(store, {
      ...guesses,
      order: guesses,
      payment: guesses,
      customer: { ...customer, ...guesses },
      dropoff_address: { ...dropoff_address, ...guesses },
      delivery_tier: 'priority',
      currency: 'usd',
      coupon: 'FREE',
    });
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body.order.delivery_fee).toBe(1299);
    const [row] = await world.sql`
      select delivery_fee_cents, driver_payout_cents from orders where id = ${answer.body.order.id}`;
    expect(row).toEqual({ delivery_fee_cents: 1299, driver_payout_cents: 950 });
  });

  it('is ignored, whatever it is called', async () => {
    const text = JSON.stringify(orderBody(store.retailerId));
    const extra =
      '"id":"mine","status":"delivered","payment_status":"paid","driver_id":"d","tracking_token":"t",' +
      '"created_at":"1999-01-01T00:00:00.000Z","sms_status":"sent","__proto__":{"delivery_tier":"priority"},' +
      '"constructor":{"prototype":{"x":1}},"toString":1,"deep":{"a":[[{"b":null}]]}';
    const answer = await create(`{${extra},${text.slice(1)}`, { headers: { 'content-type': 'application/json' } });
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body.order).toMatchObject({
      status: 'pending_dispatch',
      payment_status: 'not_charged',
      delivery_tier: 'standard',
    });
    expect(answer.body.order.id).not.toBe('mine');
    expect(answer.body.order.tracking_token).not.toBe('t');
    expect(answer.body.order.created_at).not.toMatch(/^1999/);
  });
});

describe('authentication', () => {
  it('answers 401 without a key, and says whom to ask', async () => {
    const before = await rows();
    const answer = await create(orderBody(store.retailerId), { key: undefined });
    expectError(answer, 401, 'unauthorized');
    expect(answer.body.message).toContain(SUPPORT);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(await rows()).toEqual(before);
  });

  it('answers 401 where the key and the retailer_id are not of the same store, both ways', async () => {
    const other = await addStore();
    const before = await rows();
    expectError(await create(orderBody(other.retailerId)), 401, 'unauthorized');
    expectError(await create(orderBody(store.retailerId), { key: other.apiKey }), 401, 'unauthorized');
    expectError(await create(orderBody(newId())), 401, 'unauthorized');
    expectError(await create({ retailer_id: other.retailerId }), 401, 'unauthorized');
    expect(await rows()).toEqual(before);
    expect((await create(orderBody(store.retailerId.toUpperCase()))).status).toBe(201);
  });

  it('answers 401 where the store is not active, and takes its orders again once it is', async () => {
    const other = await addStore();
    await storeOf(world.sql).setRetailerStatus(other.retailerId, 'suspended');
    expectError(await place(other), 401, 'unauthorized');
    await storeOf(world.sql).setRetailerStatus(other.retailerId, 'active');
    expect((await place(other)).status).toBe(201);
  });

  it('answers a good key something else than 401, whatever is wrong with the body', async () => {
    const json = { 'content-type': 'application/json' };
    const answers = await Promise.all([
      create('{', { headers: json }),
      create('[]', { headers: json }),
      create({}),
      create({ retailer_id: 7 }),
      create({ retailer_id: null }),
      create({ retailer_id: store.retailerId }),
      create({ ...orderBody(store.retailerId), customer: null }),
      create('x'.repeat(70_000), { headers: json }),
      create('hello', { headers: { 'content-type': 'text/plain' } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400, 400, 413, 415]);
  });

  it('lets a body with nothing but retailer_id test a key without creating anything', async () => {
    const before = await rows();
    const answer = await create({ retailer_id: store.retailerId });
    expectError(answer, 400, 'invalid_request');
    expect(badFields(answer)).toEqual(['customer', 'dropoff_address', 'pickup_address']);
    expect(await rows()).toEqual(before);
  });

  it('tells a suspended store and a rotated key at once, by a key test and by an order, however warm the key is', async () => {
    const { sql } = world;
    for (let round = 0; round < 15; round++) {
      const other = await addStore();
      const test = { retailer_id: other.retailerId };
      const [warm] = await Promise.all([place(other), create(test, { key: other.apiKey })]);
      expect(warm.status).toBe(201);
      await storeOf(sql).setRetailerStatus(other.retailerId, 'suspended');
      const suspended = await Promise.all([create(test, { key: other.apiKey }), place(other)]);
      expect(suspended.map(({ status }) => status)).toEqual([401, 401]);
      await storeOf(sql).setRetailerStatus(other.retailerId, 'active');
      const active = await Promise.all([create(test, { key: other.apiKey }), place(other)]);
      expect(active.map(({ status }) => status)).toEqual([400, 201]);
      const apiKey = newSecret('api_key');
      await storeOf(sql).rotateKey(other.retailerId, { id: newId(), keyHash: hashSecret(apiKey) });
      const rotated = await Promise.all([create(test, { key: other.apiKey }), place(other)]);
      expect(rotated.map(({ status }) => status)).toEqual([401, 401]);
      const renewed = await Promise.all([create(test, { key: apiKey }), place({ ...other, apiKey })]);
      expect(renewed.map(({ status }) => status)).toEqual([400, 201]);
      const [row] = await sql`select count(*)::int as n from orders where retailer_id = ${other.retailerId}`;
      expect(row?.n).toBe(3);
    }
  });
});

describe('the order of checks', () => {
  const other = { retailer_id: newId(), customer: 7 };

  it('puts the store before the fields', async () => {
    expectError(await create(other), 401, 'unauthorized');
    expectError(await create({ ...other, retailer_id: store.retailerId }), 400, 'invalid_request');
  });
});

describe('the body', () => {
  const json = { 'content-type': 'application/json' };

  it('may have 64 KiB and not one byte more, announced or in chunks', async () => {
    const text = JSON.stringify(orderBody(store.retailerId));
    const padded = (bytes: number) => `${text.slice(0, -1)},"p":"${'x'.repeat(bytes - text.length - 7)}"}`;
    expect(padded(65_536)).toHaveLength(65_536);
    expect((await create(padded(65_536), { headers: json })).status).toBe(201);
    const before = await rows();
    expectError(await create(padded(65_537), { headers: json }), 413, 'payload_too_large');
    const response = await fetch(`${world.url}/orders/create`, {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${store.apiKey}` },
      body: new Blob([padded(65_537)]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(413);
    await response.text();
    expect(await rows()).toEqual(before);
  });
});

describe('an address that no driver goes to', () => {
  const goTo = (state: string, zip: string) => ({ dropoff_address: { ...orderDropoff, state, zip } });
  const orderDropoff = { line1: '1 Main St', city: 'Somewhere' };
  const keyed = (changes: Record<string, unknown>, key: string) =>
    create(orderOf(store, changes), { headers: { 'idempotency-key': key } });
  const PALO_ALTO = goTo('CA', '94301');

  it('is refused by field where its ZIP is of another state, and nothing is stored', async () => {
    const before = await rows();
    const answer = await place(store, goTo('CA', '10001'));
    expectError(answer, 400, 'invalid_request');
    expect(badFields(answer)).toEqual(['dropoff_address.state', 'dropoff_address.zip']);
    expect(await rows()).toEqual(before);
  });

  it('depends on the tier', async () => {
    const statuses = async (zip: string) =>
      Promise.all(
        ['priority', 'standard', 'scheduled'].map(
          async (tier) => (await place(store, { ...goTo('CA', zip), delivery_tier: tier })).status,
        ),
      );
    expect(await statuses('94110')).toEqual([201, 201, 201]);
    expect(await statuses('94301')).toEqual([400, 201, 201]);
    expect(await statuses('95113')).toEqual([400, 400, 201]);
    expect(await statuses('95370')).toEqual([400, 400, 400]);
  });

  it('counts from the pickup that is named', async () => {
    const pickup_address = '500 5th Ave, New York, NY 10110';
    expect((await place(store, { ...goTo('NY', '10001'), pickup_address })).status).toBe(201);
    expect((await place(store, { ...goTo('CA', '94103'), pickup_address })).status).toBe(400);
  });

  it('does not undo an order: its retry gets it also after the distance was lowered, and a 400 binds no key', async () => {
    const first = await keyed(PALO_ALTO, 'before');
    expect(first.status).toBe(201);
    const setDistance = (maxDistanceMeters: number) => storeOf(world.sql).setTier('standard', { maxDistanceMeters });
    const untilAnswered = (status: number) =>
      expect.poll(async () => (await place(store, PALO_ALTO)).status).toBe(status);
    await setDistance(10_000);
    try {
      await untilAnswered(400);
      const again = await keyed(PALO_ALTO, 'before');
      expect([again.status, again.body.order.id]).toEqual([201, first.body.order.id]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expectError(await keyed(PALO_ALTO, 'after'), 400, 'invalid_request');
      expectError(await keyed(goTo('HI', '96813'), 'before'), 409, 'idempotency_key_reused');
    } finally {
      await setDistance(40_000);
    }
    await untilAnswered(201);
    const later = await keyed(PALO_ALTO, 'after');
    expect([later.status, later.headers.get('idempotent-replayed')]).toEqual([201, null]);
  });
});

describe('GET /orders/{id}', () => {
  it("shows a store its own order with the order's events", async () => {
    const created = await place(store, { delivery_tier: 'scheduled' });
    const answer = await ask(`/orders/${created.body.order.id}`, { key: store.apiKey });
    expect(answer.status).toBe(200);
    expect(answer.body.success).toBe(true);
    const { message: _message, ...order } = { message: '', ...created.body.order };
    expect(answer.body.order).toMatchObject(order);
    expect(answer.body.order.created_at).toBe(created.body.order.created_at);
    expect(answer.body.order.events[0]).toEqual({
      sequence: 1,
      type: 'created',
      at: created.body.order.created_at,
      data: null,
    });
  });

  it("answers another store's order, an unknown one and no id at all with the same bytes but the request's id", async () => {
    const other = await addStore();
    const foreign = await place(other);
    const paths = [foreign.body.order.id, newId(), 'nonsense', `${foreign.body.order.id}x`, '%C3%A9', "1'--"];
    const answers = await Promise.all(paths.map((id) => ask(`/orders/${id}`, { key: store.apiKey })));
    for (const answer of answers) expectError(answer, 404, 'not_found');
    const bytes = answers.map((answer) => answer.text.replace(answer.body.request_id, ''));
    expect(new Set(bytes).size).toBe(1);
    const headers = answers.map(({ headers: all }) =>
      JSON.stringify([...all].filter(([name]) => name !== 'x-request-id' && name !== 'date')),
    );
    expect(new Set(headers).size).toBe(1);
  });

  it('answers 401 without a good key, whether the order is there or not', async () => {
    const { body } = await place(store);
    for (const id of [body.order.id, newId()]) {
      expectError(await ask(`/orders/${id}`), 401, 'unauthorized');
      expectError(await ask(`/orders/${id}`, { key: newSecret('api_key') }), 401, 'unauthorized');
    }
  });
});

describe('every reply', () => {
  it('has a request id of its own and names the mode', async () => {
    const answers: Answer<unknown>[] = await Promise.all([
      ask<Body>('/nowhere'),
      ask('/healthz'),
      ask('/readyz'),
      ask('/metrics'),
      ask('/track/unknown'),
      ask('/orders/create', { method: 'POST' }),
      place(store),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 200, 200, 200, 404, 401, 201]);
    const ids = answers.map(({ headers }) => headers.get('x-request-id'));
    expect(new Set(ids).size).toBe(answers.length);
    for (const id of ids) expect(id).toMatch(UUID);
    for (const { headers } of answers) expect(headers.get('x-sameday-mode')).toBe('sandbox');
  });

  it('is JSON for an address that is not there or takes another method', async () => {
    expectError(await ask('/v1/orders/create', { method: 'POST', body: {} }), 404, 'not_found');
    const answer = await ask('/orders/create', { method: 'PUT', key: store.apiKey, body: {} });
    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toContain('POST');
  });
});

describe('Idempotency-Key', () => {
  const send = (path: string, body: unknown, key: string, of: Store = store) =>
    ask(path, { method: 'POST', body, key: of.apiKey, headers: { 'idempotency-key': key } });
  const createOnce = (key: string, changes: Record<string, unknown> = {}, of: Store = store) =>
    send('/orders/create', orderBody(of.retailerId, changes), key, of);
  const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true';

  it('makes one order of fifty identical requests, and every answer names it', async () => {
    const before = (await rows()).orders as number;
    const answers = await Promise.all(Array.from({ length: 50 }, () => createOnce('fifty')));
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(201));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(isReplayed)).toHaveLength(49);
    expect((await rows()).orders).toBe(before + 1);
    const later = await createOnce('fifty');
    expect([later.text, isReplayed(later)]).toEqual([answers[0]?.text, true]);
  });

  it('shows the order as it was answered first, and says in the message what became of it', async () => {
    const { body: first } = await createOnce('then cancelled');
    expect((await createOnce('then cancelled')).body).toEqual(first);
    expect((await send(`/orders/${first.order.id}/cancel`, { reason: 'other' }, 'its cancel')).status).toBe(200);
    const again = await createOnce('then cancelled');
    expect([again.status, isReplayed(again)]).toEqual([201, true]);
    // It waits no more.
    expect(again.body.order).toEqual({ ...first.order, waiting_because: undefined });
    expect(again.body.message).toBe('The order was created before and was cancelled; no driver comes.');
    const said = async (status: string) => {
      await world.sql`update orders set status = ${status}, driver_id = ${newId()} where id = ${first.order.id}`;
      return (await createOnce('then cancelled')).body.message;
    };
    expect(await said('driver_assigned')).toMatch(/before and a driver is on the way/);
    expect(await said('picked_up')).toMatch(/before and its driver has the parcel/);
    expect(await said('delivered')).toMatch(/before and was delivered/);
    expect(await said('expired')).toMatch(/before and expired/);
    expect(await said('undeliverable')).toMatch(/could not be handed over; its driver brings/);
    expect(await said('returned')).toMatch(/could not be handed over; it has ended/);
  });

  it('takes what differs only in what the contract does not name, or in outer spaces, for the same', async () => {
    const first = await createOnce('same');
    const again = await createOnce('same', { pickup_address: `  ${orderBody('').pickup_address} `, note: 'new' });
    expect([again.status, again.body.order.id, isReplayed(again)]).toEqual([201, first.body.order.id, true]);
  });

  it('refuses another body under a used key, naming the first order, and makes nothing', async () => {
    const first = await createOnce('other body');
    const before = await rows();
    const again = await createOnce('other body', { delivery_tier: 'priority' });
    expectError(again, 409, 'idempotency_key_reused');
    expect(again.body.message).toContain(first.body.order.id);
    expect(await rows()).toEqual(before);
  });

  it('belongs to its store', async () => {
    const other = await addStore();
    const [mine, theirs] = [await createOnce('shared'), await createOnce('shared', {}, other)];
    expect([theirs.status, isReplayed(theirs)]).toEqual([201, false]);
    expect(theirs.body.order.id).not.toBe(mine.body.order.id);
  });

  it('is not bound by a request that made no order', async () => {
    expectError(await createOnce('first wrong', { delivery_tier: 'yesterday' }), 400, 'invalid_request');
    const right = await createOnce('first wrong');
    expect([right.status, isReplayed(right)]).toEqual([201, false]);
  });

  it.each([
    ['too long', 'k'.repeat(256)],
    ['not ASCII', 'schl\u00fcssel'],
  ])('that is %s is refused by name', async (_what, key) => {
    const before = await rows();
    const answer = await createOnce(key);
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.fields.map(({ field }) => field)).toEqual(['Idempotency-Key']);
    expect(await rows()).toEqual(before);
  });

  // The transport drops such bytes at an end, so that both are one key; `docs/integrate.md` says so.
  it('that differs in what is not ASCII at its end alone never answers an order with another one', async () => {
    expect((await createOnce('shop7-\u00e4')).status).toBe(201);
    const other = await createOnce('shop7-\u00f6', { delivery_tier: 'scheduled' });
    expectError(other, 409, 'idempotency_key_reused');
  });

  it('makes a cancellation repeatable: the first answer again, and a 409 for another reason or order', async () => {
    const [order, second] = [(await createOnce('to cancel')).body.order, (await createOnce('to keep')).body.order];
    const cancel = (id: string, reason: string, key: string) => send(`/orders/${id}/cancel`, { reason }, key);
    const first = await cancel(order.id, 'duplicate', 'cancel');
    const again = await cancel(order.id, 'duplicate', 'cancel');
    expect([first.status, again.status, isReplayed(first), isReplayed(again)]).toEqual([200, 200, false, true]);
    expect(again.text).toBe(first.text);
    expectError(await cancel(order.id, 'other', 'cancel'), 409, 'idempotency_key_reused');
    const reused = await cancel(second.id, 'duplicate', 'cancel');
    expectError(reused, 409, 'idempotency_key_reused');
    expect(reused.body.message).toContain(order.id);
    expect((await show(store, second.id)).status).toBe('pending_dispatch');
    const before = await cancel(order.id, 'other', 'another key');
    expect([before.status, before.body.message]).toEqual([200, 'The order was cancelled before.']);
  });
});

// The last of the file: on a machine that is busy, its connections are not all back for some seconds.
describe('a database that cannot be asked', () => {
  it('is 503 and never 401, creates nothing, and orders are taken again as soon as it is back', async () => {
    const other = await addStore();
    const admin = connect({ url: inject('testPostgres').url, applicationName: 'test', max: 1 });
    const name = new URL(world.databaseUrl).pathname.slice(1);
    const before = await rows();
    await admin`alter database ${admin(name)} with allow_connections false`;
    await admin`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name} and pid <> pg_backend_pid()
        and application_name <> 'test'`;
    try {
      // A statement on a connection that is just dying has an unknown outcome, which is another matter.
      const left = () => admin`
        select pid from pg_stat_activity where datname = ${name} and application_name <> 'test'`;
      await expect.poll(left, { interval: 20 }).toEqual([]);
      await expect.poll(async () => (await ask('/readyz')).status).toBe(503);
      const known = await place(store);
      const unknown = await place(other);
      const bad = await create(orderBody(store.retailerId), { key: newSecret('api_key') });
      for (const answer of [known, unknown, bad]) {
        expectError(answer, 503, 'unavailable');
        expect(answer.headers.get('retry-after')).toBe('1');
      }
      expect((await ask('/healthz')).status).toBe(200);
      expect((await ask('/readyz')).status).toBe(503);
    } finally {
      await admin`alter database ${admin(name)} with allow_connections true`;
      await admin.end();
    }
    await expect.poll(async () => (await place(other)).status, { interval: 100 }).toBe(201);
    expect((await rows()).orders).toBe((before.orders ?? 0) + 1);
  });
});
