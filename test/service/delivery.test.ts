import { request } from 'node:http';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { DECLINE_PAUSE_SECONDS } from '../../src/domain/stripe-declines.ts';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { makePng } from '../harness/bombs.ts';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { dropoffNear } from '../harness/towns.ts';
import { type Driver, newPhone, northOf, type Socket, type Store, textsTo } from './clients.ts';
import { useService } from './world.ts';

/** What a driver does not see of a customer far from the store. */
const HIDDEN = { name: null, phone: null, line2: null, instructions: null, leave_at_door: null };

const TRACKING_URL = 'https://track.sameday.test';

const world = useService(startServiceHere, { TRACKING_URL });
const { addStore, addDriver, addFreeDriver, ask, place, show, untilOrder } = world;
const { openPhone, openSocket, chargesOf, storedPhotos } = world;
const photo = await jpeg(320, 240);
const sockets: Socket[] = [];

afterAll(async () => {
  for (const socket of sockets) socket.close();
});

const picture = (width = 320, height = 240) => sharp({ create: { width, height, channels: 3, background: '#8a5a2b' } });

/** What a driver of one parcel is told. */
const told = (onDuty: boolean, order: object | null) => ({
  driver_id: expect.any(String),
  driver_name: expect.any(String),
  on_duty: onDuty,
  on_duty_until: null,
  capacity: 1,
  order,
  orders: order ? [order] : [],
  stops: expect.any(Array),
  version: expect.any(String),
  wait_at: null,
});

function customer(smsOptIn: boolean, phone = newPhone()) {
  return { name: 'Winifred Quackenbush', email: 'w.quackenbush@example.com', phone, sms_opt_in: smsOptIn };
}

async function connected(path: string): Promise<Socket> {
  const socket = await openSocket(path);
  sockets.push(socket);
  return socket;
}

/** An order with its driver, assigned at creation. */
const assigned = (options?: Parameters<typeof addStore>[0]) => world.assigned(options, { customer: customer(false) });

async function carry(driver: Driver, orderId: string): Promise<void> {
  expect((await driver.pickUp(orderId)).status).toBe(200);
  expect((await driver.deliver(orderId, photo)).status).toBe(200);
}

describe('an order without a driver', () => {
  it('waits uncharged, says why, and is charged exactly once when a driver comes on duty near it', async () => {
    const store = await addStore();
    const { status, body } = await place(store, { delivery_tier: 'priority' });
    expect(status).toBe(201);
    expect(body.order).toMatchObject({ status: 'pending_dispatch', payment_status: 'not_charged' });
    expect(await show(store, body.order.id)).toMatchObject({
      driver_id: null,
      charge_id: null,
      waiting_because: expect.stringMatching(/^[a-z_]+$/),
    });
    expect(chargesOf(body.order.id)).toEqual([]);
    const [owed] = await world.sql`
      select count(*)::int as n from outbox where order_id = ${body.order.id} and queue = 'charge'`;
    expect(owed?.n).toBe(0);

    const driver = await addDriver();
    await driver.at(northOf(store.point, 900));
    await driver.duty(true);
    const shown = await untilOrder(store, body.order.id, {
      status: 'driver_assigned',
      payment_status: 'paid',
      driver_id: driver.id,
    });
    expect(shown.events.map(({ type }) => type).filter((type) => !type.startsWith('sms'))).toEqual([
      'created',
      'driver_assigned',
      'payment_paid',
    ]);
    expect(shown).not.toHaveProperty('waiting_because');
    expect(shown.charge_id).toMatch(/^pi_/);
    expect(chargesOf(body.order.id)).toEqual([
      expect.objectContaining({
        key: `${body.order.id}:1`,
        amount: 1299,
        currency: 'usd',
        customer: TEST_CARDS.ok.customer,
        paymentMethod: TEST_CARDS.ok.paymentMethod,
        answer: { kind: 'paid' },
      }),
    ]);
  });

  it('is taken by a driver on duty who moves into its reach', async () => {
    const store = await addStore();
    const driver = await addFreeDriver(northOf(store.point, 30_000));
    const { body } = await place(store);
    expect(body.order.status).toBe('pending_dispatch');
    await driver.at(northOf(store.point, 2_000));
    await untilOrder(store, body.order.id, { status: 'driver_assigned', driver_id: driver.id });
  });

  it('goes to the driver who is free again, one after the other', async () => {
    const { store, driver, id } = await assigned();
    const [second, third] = [await place(store), await place(store)];
    expect([second.body.order.status, third.body.order.status]).toEqual(['pending_dispatch', 'pending_dispatch']);
    const waiting = new Set([second.body.order.id, third.body.order.id]);
    for (let now = id; waiting.size > 0; ) {
      await carry(driver, now);
      await expect.poll(async () => (await driver.state()).order?.id).toBeDefined();
      now = (await driver.state()).order?.id ?? '';
      expect(waiting.delete(now)).toBe(true);
      await untilOrder(store, now, { status: 'driver_assigned', driver_id: driver.id });
      if (waiting.size === 0) await carry(driver, now);
    }
    expect((await driver.state()).order).toBeNull();
    for (const order of [id, second.body.order.id, third.body.order.id]) {
      await untilOrder(store, order, { status: 'delivered', payment_status: 'paid' });
      expect(chargesOf(order)).toHaveLength(1);
    }
  });
});

describe('a text', () => {
  it.each([true, false])('is sent with the right link only with sms_opt_in (driver there: %s)', async (driverThere) => {
    const store = await addStore({ name: 'Blue Door Books' });
    if (driverThere) {
      await addFreeDriver(northOf(store.point, 100));
      await addFreeDriver(northOf(store.point, 100));
    }
    const [yes, no] = [customer(true), customer(false)];
    const wanted = await place(store, { customer: yes });
    const unwanted = await place(store, { customer: no });
    const status = driverThere ? 'driver_assigned' : 'pending_dispatch';
    expect([wanted.body.order.status, unwanted.body.order.status]).toEqual([status, status]);
    await untilOrder(store, wanted.body.order.id, { sms_status: 'delivered', sms_failure_code: null });
    const link = `${TRACKING_URL}/track/${wanted.body.order.tracking_token}`;
    const sent = textsTo(world.dataDir, yes.phone);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.body).toContain('Blue Door Books');
    expect(sent[0]?.body.endsWith(` ${link}`)).toBe(true);
    // The other text's turn would have come before: its order was there when the first one was sent.
    const [jobs] = await world.sql`
      select count(*)::int as n from outbox where order_id = ${unwanted.body.order.id} and queue = 'sms'`;
    expect(jobs?.n).toBe(0);
    expect(textsTo(world.dataDir, no.phone)).toEqual([]);
    expect(await show(store, unwanted.body.order.id)).toMatchObject({ sms_status: 'none' });
  });
});

describe('a driver who is free', () => {
  it('is given the order with the reply, and the reply says that it is paid', async () => {
    const { driver, order: created, store } = await assigned();
    expect(created).toMatchObject({ status: 'driver_assigned', payment_status: 'paid', delivery_fee: 799 });
    expect(chargesOf(created.id)).toEqual([expect.objectContaining({ amount: 799, currency: 'usd' })]);
    expect(await show(store, created.id)).toMatchObject({ driver_id: driver.id, driver_name: 'Sam Rider' });
  });

  it('is not used where he is off duty, not qualified, too far or was not heard of lately', async () => {
    const store = await addStore();
    const near = northOf(store.point, 50);
    const offDuty = await addDriver();
    await offDuty.at(near);
    await addFreeDriver(near, { tiers: ['scheduled', 'priority'] });
    await addFreeDriver(northOf(store.point, 9_500));
    const silent = await addDriver();
    await silent.at(near, 95_000);
    await silent.duty(true);
    const nowhere = await addDriver();
    await nowhere.duty(true);

    const { body } = await place(store, { delivery_tier: 'standard' });
    expect(body.order.status).toBe('pending_dispatch');
    await offDuty.duty(true);
    await untilOrder(store, body.order.id, { driver_id: offDuty.id });
    // A position that is older than the known one changes nothing; a new one makes him available again.
    const next = await place(store);
    expect(next.body.order.status).toBe('pending_dispatch');
    await silent.at(near);
    await untilOrder(store, next.body.order.id, { driver_id: silent.id });
  });
});

describe('the driver', () => {
  it('sees the order over HTTP and on his socket, as it is given to him and as it goes on', async () => {
    const store = await addStore({ name: 'Blue Door Books' });
    const driver = await addDriver();
    const phone = await openPhone(driver.token);
    sockets.push(phone);
    expect(phone.messages[0]).toEqual({ type: 'state', ...told(false, null) });
    phone.send({ type: 'duty', on_duty: true });
    const state = () => phone.messages.filter(({ type }) => type === 'state').at(-1);
    await expect.poll(state).toEqual({ type: 'state', ...told(true, null) });
    const { lat, lng } = northOf(store.point, 400);
    phone.send({ type: 'position', lat, lng, captured_at: new Date().toISOString() });
    phone.send({ type: 'ping' });
    await expect.poll(() => phone.messages).toContainEqual({ type: 'pong' });

    const recipient = customer(false);
    const dropoff = { ...dropoffNear(store.point), line1: '9 Elm St', line2: 'Unit 4' };
    const { body } = await place(store, { customer: recipient, dropoff_address: dropoff });
    expect(body.order.status).toBe('driver_assigned');
    const order = {
      id: body.order.id,
      status: 'driver_assigned',
      sequence: expect.any(Number),
      delivery_tier: 'standard',
      driver_payout_cents: 550,
      store_name: 'Blue Door Books',
      deliver_by: expect.any(String),
      items: [],
      pickup: { address: store.address, ...store.point, instructions: null },
      dropoff: {
        name: recipient.name,
        phone: recipient.phone,
        ...dropoff,
        instructions: null,
        leave_at_door: false,
      },
    };
    const far = { ...order, items: null, dropoff: { ...dropoff, ...HIDDEN } };
    await expect.poll(state).toEqual({ type: 'state', ...told(true, far) });
    expect(await driver.state()).toEqual({ success: true, ...told(true, far) });
    phone.send({ type: 'position', ...northOf(store.point, 200), captured_at: new Date().toISOString() });
    await expect.poll(state).toEqual({ type: 'state', ...told(true, order) });
    expect(await driver.state()).toEqual({ success: true, ...told(true, order) });

    const pickedUp = await driver.pickUp(body.order.id);
    expect([pickedUp.status, pickedUp.body.order.status]).toEqual([200, 'picked_up']);
    const carried = { ...order, status: 'picked_up', sequence: pickedUp.body.order.sequence };
    await expect.poll(state).toEqual({ type: 'state', ...told(true, carried) });
    const delivered = await driver.deliver(body.order.id, photo);
    expect([delivered.status, delivered.body.order.status]).toEqual([200, 'delivered']);
    await expect.poll(state).toEqual({ type: 'state', ...told(true, null) });
  });

  it('reads no customer by giving back order after order, and can give back ten within an hour', async () => {
    const store = await addStore();
    const driver = await addFreeDriver(northOf(store.point, 400));
    const dropoff = { line1: '9 Elm St', line2: 'Unit 4', city: 'APO', state: 'AP', zip: '96204' };
    const release = (id: string, actionId: string) =>
      ask(`/driver/orders/${id}/release`, {
        method: 'POST',
        key: driver.token,
        body: { reason: 'other', action_id: actionId },
      });
    const seen: unknown[] = [];
    for (let n = 1; n <= 11; n += 1) {
      const { body } = await place(store, { customer: customer(false), dropoff_address: dropoff });
      await untilOrder(store, body.order.id, { driver_id: driver.id });
      seen.push((await driver.state()).order?.dropoff);
      const answer = await release(body.order.id, `give-back-${n}`);
      expect(answer.status).toBe(n <= 10 ? 200 : 429);
      if (n <= 10) continue;
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(3_500);
      expect(answer.body).toMatchObject({
        message: expect.stringMatching(
          /^You gave back too many orders\. You can give one back again in \d\d minutes\./,
        ),
        error: { code: 'too_many_releases', retryable: true },
      });
      // One that was done is still done, and the order of the refused one stays.
      const [first] = await world.sql`select order_id from driver_actions where action_id = 'give-back-1'`;
      expect((await release(first?.order_id, 'give-back-1')).status).toBe(200);
      expect((await show(store, body.order.id)).status).toBe('driver_assigned');
    }
    expect(seen).toEqual(Array(11).fill({ ...dropoff, ...HIDDEN }));
  });

  it('is refused without his own token, over HTTP and on the socket', async () => {
    const { store, id } = await assigned();
    for (const key of [undefined, `sdd_${'a'.repeat(32)}`, store.apiKey, 'x']) {
      const sent = key === undefined ? {} : { key };
      expect((await ask('/driver/orders', sent)).status).toBe(401);
      expect((await ask(`/driver/orders/${id}/pick-up`, { ...sent, method: 'POST' })).status).toBe(401);
      expect((await ask('/driver/duty', { ...sent, method: 'PUT', body: { on_duty: true } })).status).toBe(401);
    }
    const stranger = await connected('/driver/live');
    stranger.send({ type: 'hello', token: `sdd_${'a'.repeat(32)}` });
    await expect.poll(() => stranger.closedWith()).toBe(4401);
    expect(stranger.messages).toEqual([]);
  });
});

/** The status of an upload whose size is announced and of which no byte is sent. */
function announce(driver: Driver, orderId: string, bytes: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const upload = request(`${world.url}/driver/orders/${orderId}/deliver`, {
      method: 'POST',
      headers: { authorization: `Bearer ${driver.token}`, 'content-type': 'image/jpeg', 'content-length': bytes },
    });
    upload.once('error', reject);
    upload.once('response', (response) => {
      resolve(response.statusCode);
      upload.destroy();
    });
    upload.flushHeaders();
  });
}

describe('the photo', () => {
  const place5 = { name: 'EXIF', gps: '37/1 46/1 0/1' };

  it.each(['jpeg', 'png', 'webp'] as const)(
    'may be a %s and is shown on the tracking link as a plain JPEG',
    async (type) => {
      const { driver, token, id } = await assigned();
      await driver.pickUp(id);
      const bytes = await picture(2_400, 1_200)
        .withExif({ IFD0: { Copyright: place5.name }, IFD3: { GPSLatitude: place5.gps } })
        [type]()
        .toBuffer();
      expect((await sharp(bytes).metadata()).exif).toBeDefined();
      expect((await ask(`/track/${token}/photo`)).status).toBe(404);
      expect((await driver.deliver(id, bytes, `image/${type}`)).status).toBe(200);
      const response = await fetch(`${world.url}/track/${token}/photo`);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
      const shown = Buffer.from(await response.arrayBuffer());
      const { format, width, height, exif } = await sharp(shown).metadata();
      expect({ format, width, height, exif }).toEqual({ format: 'jpeg', width: 2_048, height: 1_024, exif: undefined });
      const status = await ask<{ order: { photo_url: string } }>(`/track/${token}/status`);
      expect(status.body.order.photo_url).toBe(`/track/${token}/photo`);
      const page = await ask(`/track/${token}`);
      expect(page.text).toContain(`<img src="/track/${token}/photo"`);
    },
  );

  it('that is none is refused with 422 and changes nothing; a good one is taken a second later', async () => {
    const huge = makePng({ width: 6_000, height: 4_001 });
    for (const bytes of [Buffer.from('not a photo'), photo.subarray(0, 200), huge]) {
      const { store, driver, id } = await assigned();
      await driver.pickUp(id);
      await untilOrder(store, id, { payment_status: 'paid' });
      const before = [await show(store, id), storedPhotos()];
      const answer = await driver.deliver(id, bytes);
      expect([answer.status, answer.body.error.code], answer.text).toEqual([422, 'unusable_photo']);
      expect((await driver.deliver(id, photo, 'text/plain')).status).toBe(415);
      expect(await announce(driver, id, 10 * 1024 * 1024 + 1)).toBe(413);
      expect([await show(store, id), storedPhotos()]).toEqual(before);
      // A refused driver waits a second, in which each question would be another photo.
      await expect.poll(async () => (await driver.deliver(id, photo)).status, { interval: 250 }).toBe(200);
    }
  });
});

describe('a card that declines', () => {
  it('once and then pays is charged once, for the fee of then', async () => {
    const card = { customer: 'cus_sandbox', paymentMethod: 'pm_sandbox_processing_error_once' };
    const { store, id } = await assigned({ card });
    await world.sql`update tiers set fee_cents = 999 where id = 'standard'`;
    const shown = await untilOrder(store, id, { payment_status: 'paid', payment_failure_code: null });
    await world.sql`update tiers set fee_cents = 799 where id = 'standard'`;
    expect(shown.charge_id).toMatch(/^pi_/);
    const charges = chargesOf(id);
    expect(charges.map(({ amount, answer }) => [amount, answer.kind])).toEqual([
      [799, 'declined'],
      [799, 'paid'],
    ]);
  });

  it('for want of funds is tried again by itself when its time has come', async () => {
    const card = { customer: 'cus_sandbox', paymentMethod: 'pm_sandbox_insufficient_funds_once' };
    const { store, id } = await assigned({ card });
    const failed = await untilOrder(store, id, { payment_status: 'failed' });
    const data = { code: 'insufficient_funds', retry_after_seconds: DECLINE_PAUSE_SECONDS };
    expect(failed.events).toContainEqual(expect.objectContaining({ type: 'payment_failed', data }));
    await world.sql`update charge_retries set due_at = now() where order_id = ${id}`;
    const paid = await untilOrder(store, id, { payment_status: 'paid', payment_failure_code: null });
    expect(paid.events).toContainEqual(expect.objectContaining({ type: 'payment_retried', data: { by: 'service' } }));
  });
});

describe('the tracking link', () => {
  it('tells every step while it happens, and never a phone, an e-mail, a surname or an address', async () => {
    const store = await addStore({ name: 'Blue Door Books' });
    const recipient = customer(true);
    const dropoff = { ...dropoffNear(store.point), line1: '77 Hidden ConcurrencyLimit', line2: 'Attic' };
    const { body } = await place(store, { customer: recipient, dropoff_address: dropoff });
    const path = `/track/${body.order.tracking_token}`;
    const page = await connected(`${path}/live`);
    const seen: string[] = [];
    const look = async (): Promise<void> => {
      for (const each of [path, `${path}/status`]) {
        const answer = await ask(each);
        expect(answer.status).toBe(200);
        seen.push(answer.text);
      }
    };
    const latest = () =>
      page.messages.filter(({ type }) => type === 'order').at(-1)?.order as Record<string, unknown> | undefined;
    const untilShown = (expected: Record<string, unknown>) => expect.poll(latest).toMatchObject(expected);

    await untilShown({ status: 'pending_dispatch', driver: null });
    await look();
    const driver = await addDriver({ name: 'Florence Abernathy-Stone', phone: '+14155550188' });
    await driver.duty(true);
    await driver.at(northOf(store.point, 3_000));
    await untilShown({
      status: 'driver_assigned',
      driver: { first_name: 'Florence', position: { precision: 'approximate' } },
    });
    await look();
    await driver.pickUp(body.order.id);
    const spot = northOf(store.point, 1_234);
    await driver.at(spot);
    await untilShown({ status: 'picked_up' });
    const position = { ...spot, precision: 'exact' };
    // With the change of status, or after it in a message of its own.
    const shown = () => {
      const last = page.messages.filter(({ type }) => type !== 'pong').at(-1);
      return last?.type === 'position' ? last.position : (latest()?.driver as { position: unknown } | null)?.position;
    };
    await expect.poll(shown).toMatchObject(position);
    await look();
    await driver.deliver(body.order.id, photo);
    await untilShown({ status: 'delivered', final: true, photo_url: `${path}/photo` });
    await look();
    await untilOrder(store, body.order.id, { sms_status: 'delivered', payment_status: 'paid' });

    const everything = [...seen, ...page.messages.map((message) => JSON.stringify(message))].join('\n');
    expect(everything).toContain('Florence');
    expect(everything).toContain('Blue Door Books');
    const secrets = [
      recipient.phone,
      recipient.email,
      'Quackenbush',
      'Winifred',
      'Hidden ConcurrencyLimit',
      'Attic',
      'Abernathy',
      '5550188',
      driver.token,
      store.apiKey,
      'paid',
    ];
    for (const secret of [...secrets, recipient.phone.slice(2)]) expect(everything).not.toContain(secret);
    // The fee, which may also stand in a token or a time.
    expect(everything).not.toMatch(/7\.99\b|[:"]799\b|fee|cents/);
    const sequences = page.messages
      .filter(({ type }) => type === 'order')
      .map(({ order }) => (order as { sequence: number }).sequence);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
  });

  it('that nobody was given is a plain 404 page, and 404 for status, photo and socket', async () => {
    for (const token of ['unknown', 'a'.repeat(24), '%3Cscript%3E', `${'a'.repeat(24)}'--`]) {
      const page = await ask(`/track/${token}`);
      expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
      expect(page.text).toContain('This link is not known');
      expect(page.text).not.toContain('<script>');
      expect((await ask(`/track/${token}/status`)).status).toBe(404);
      expect((await ask(`/track/${token}/photo`)).status).toBe(404);
      await expect(connected(`/track/${token}/live`)).rejects.toThrow('refused with 404');
    }
  });

  it("is not the order's id", async () => {
    const store: Store = await addStore();
    const { body } = await place(store);
    expect((await ask(`/track/${body.order.id}`)).status).toBe(404);
    expect(body.order.tracking_token).not.toContain(body.order.id.slice(0, 8));
  });
});
