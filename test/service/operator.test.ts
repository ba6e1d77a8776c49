import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { hashSecret, newId } from '../../src/domain/ids.ts';
import type { StandIn } from '../../src/sandbox/stand-in.ts';
import { startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { startTwilioStandIn } from '../../src/sandbox/twilio-stand-in.ts';
import { runCli, runCommand, type Said } from '../harness/command-line.ts';
import { STEP_MS } from '../harness/patience.ts';
import { type Environment, newDataDir, startBuiltService } from '../harness/service.ts';
import { SENDER } from '../harness/vendor-rows.ts';
import { driverOf, newPhone, newPlace, northOf, type Socket, type Store } from './clients.ts';
import { useService } from './world.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ADDRESS = 'One Test Square, San Francisco, CA 94110';

let stripe: StandIn;
let twilio: StandIn;
const sockets: Socket[] = [];

afterAll(async () => {
  await stripe?.close();
  await twilio?.close();
});
const world = useService(startBuiltService, async (dataDir) => {
  stripe = await startStripeStandIn({ ledgerFile: `${dataDir}/stripe.jsonl` });
  twilio = await startTwilioStandIn({ ledgerFile: `${dataDir}/twilio.jsonl` });
  return {
    LOG_LEVEL: 'debug',
    STRIPE_SECRET_KEY: 'sk_test_secret0123456789',
    STRIPE_API_BASE: stripe.url,
    TWILIO_ACCOUNT_SID: `AC${'7'.repeat(32)}`,
    TWILIO_AUTH_TOKEN: 'twilio-secret-0123456789',
    TWILIO_FROM: SENDER,
    TWILIO_API_BASE: twilio.url,
  };
});
const { ask, place, show, untilOrder, openPhone, openSocket } = world;
afterAll(() => {
  for (const socket of sockets) socket.close();
});

type Printed = Record<string, string>;
/** The settings of commands, which need nothing of the vendors. */
const env = () => ({ DATABASE_URL: world.databaseUrl, DATA_DIR: world.dataDir, SANDBOX: '1' });
const sameday = <Result = Printed>(...args: string[]) => runCli<Result>(env(), ...args);

/** Runs a command as a person would, without `--json`, and takes whatever it says. */
const said = (args: readonly string[], environment: Environment = env()): Promise<Said> =>
  runCommand(environment, ...args);

/** The same of the built command line, in a process. */
function saidByProcess(args: readonly string[]): Promise<Said> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [`${ROOT}dist/cli.js`, ...args],
      { cwd: ROOT, env: { PATH: process.env.PATH, ...env() }, timeout: STEP_MS },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

/** A store made by the command line, at a place of its own. */
async function newStore(...options: string[]): Promise<Store> {
  const point = newPlace();
  const place = ['--lat', String(point.lat), '--lng', String(point.lng)];
  const made = await sameday(
    'retailer',
    'create',
    '--name',
    'Corner Market',
    '--address',
    ADDRESS,
    '--yes',
    ...place,
    ...options,
  );
  return { retailerId: made.retailer_id ?? '', apiKey: made.api_key ?? '', address: ADDRESS, point };
}

async function newDriver(...options: string[]) {
  const made = await sameday('driver', 'create', '--name', 'Sam Rider', '--phone', '+14155550177', '--yes', ...options);
  expect(made.driver_token).toMatch(/^sdd_[\w-]{32}$/);
  return driverOf(world.service, made.driver_id ?? '', made.driver_token ?? '');
}

/** Such a driver on duty near a store. */
async function freeDriver({ point }: Store, ...options: string[]) {
  const driver = await newDriver(...options);
  await driver.at(northOf(point, 100));
  await driver.duty(true);
  return driver;
}

describe('an application', () => {
  const apply = () =>
    sameday('retailer', 'apply', '--name', 'Blue Door Books', '--address', ADDRESS, '--email', 'owner@example.com');

  it('is recorded and, approved, becomes a store whose key works', async () => {
    const { application_id: id = '' } = await apply();
    const listed = await sameday<{ applications: Printed[] }>('retailer', 'list');
    expect(listed.applications).toContainEqual(
      expect.objectContaining({ application_id: id, name: 'Blue Door Books', status: 'applied' }),
    );
    expect(await sameday('retailer', 'show', id)).toMatchObject({
      contact_email: 'owner@example.com',
      decided_at: null,
    });

    const made = await sameday('retailer', 'approve', id);
    expect(Object.keys(made)).toEqual(['retailer_id', 'api_key']);
    const store = {
      retailerId: made.retailer_id ?? '',
      apiKey: made.api_key ?? '',
      address: ADDRESS,
      point: { lat: 37.76, lng: -122.42 },
    };
    expect((await place(store)).status).toBe(201);
    expect(await sameday('retailer', 'show', id)).toMatchObject({
      status: 'approved',
      retailer_id: store.retailerId,
      decided_at: expect.stringMatching(/^\d{4}-/),
    });
    const [stores] = await world.sql`select count(*)::int as n from retailers where name = 'Blue Door Books'`;
    const again = await said(['retailer', 'approve', id]);
    expect([again.code, again.stdout, again.stderr.split('\n').at(-2)]).toEqual([
      1,
      '',
      'That application was approved before.',
    ]);
    expect((await said(['retailer', 'reject', id, '--reason', 'late', '--yes'])).code).toBe(1);
    const [after] = await world.sql`select count(*)::int as n from retailers where name = 'Blue Door Books'`;
    expect(after?.n).toBe(stores?.n);
  });

  it('is recorded with the reason where it is rejected, and makes no store', async () => {
    const { application_id: id = '' } = await apply();
    const [before] = await world.sql`select count(*)::int as n from retailers`;
    await sameday('retailer', 'reject', id, '--reason', 'outside of the area', '--yes');
    expect(await sameday('retailer', 'show', id)).toMatchObject({
      status: 'rejected',
      decision_note: 'outside of the area',
      retailer_id: null,
    });
    const again = await said(['retailer', 'approve', id]);
    expect([again.code, again.stderr.split('\n').at(-2)]).toEqual([1, 'That application was rejected before.']);
    expect((await sameday<{ applications: Printed[] }>('retailer', 'list')).applications).not.toContainEqual(
      expect.objectContaining({ application_id: id }),
    );
    const [after] = await world.sql`select count(*)::int as n from retailers`;
    expect(after?.n).toBe(before?.n);
  });
});

describe('a store', () => {
  it('is listed and shown without its secrets, and charged to the card that was set last', async () => {
    const store = await newStore('--test-card', 'declined');
    const shown = await sameday<Record<string, unknown>>('retailer', 'show', store.retailerId);
    expect(shown).toMatchObject({
      status: 'active',
      stripe_payment_method_id: 'pm_card_chargeDeclined',
      ...store.point,
    });
    expect(shown.keys).toEqual([expect.objectContaining({ revoked_at: null })]);
    const listed = await sameday<{ retailers: Printed[] }>('retailer', 'list');
    expect(listed.retailers).toContainEqual(expect.objectContaining({ retailer_id: store.retailerId, has_card: true }));
    for (const each of [shown, listed]) {
      expect(JSON.stringify(each)).not.toContain(store.apiKey);
      expect(JSON.stringify(each)).not.toContain(hashSecret(store.apiKey));
    }

    const card = ['--stripe-customer', 'cus_of_ours', '--payment-method', 'pm_card_mastercard'];
    expect(await sameday('retailer', 'set-card', store.retailerId, ...card)).toMatchObject({ card: 'set' });
    await freeDriver(store);
    const { body } = await place(store);
    expect(body.order.payment_status).toBe('paid');
    expect(stripe.entries()).toContainEqual(
      expect.objectContaining({ customer: 'cus_of_ours', paymentMethod: 'pm_card_mastercard' }),
    );
  });

  it('is made without a card in the sandbox, and gets and loses one later', async () => {
    const store = await newStore('--test-card', 'none');
    const cardOf = async () =>
      (await sameday<{ stripe_payment_method_id: string }>('retailer', 'show', store.retailerId))
        .stripe_payment_method_id;
    expect(await cardOf()).toBeNull();
    const setCard = (kind: string) => sameday('retailer', 'set-card', store.retailerId, '--test-card', kind);
    expect(await setCard('ok')).toMatchObject({ card: 'set' });
    expect(await cardOf()).toBe('pm_card_visa');
    expect(await setCard('none')).toMatchObject({ card: 'none' });
    const driver = await freeDriver(store);
    const { body } = await place(store);
    await untilOrder(store, body.order.id, { payment_failure_code: 'no_card_on_file' });
    await driver.duty(false);
  });

  it("'s rate is shown in the words in which it is set", async () => {
    const store = await newStore();
    const set = (rate: string) => said(['retailer', 'set-rate', store.retailerId, '--per-second', rate]);
    const shown = async () => (await said(['retailer', 'show', store.retailerId])).stdout;
    for (const rate of ['none', '7', 'default']) {
      expect((await set(rate)).stdout).toMatch(new RegExp(`^orders_per_second +${rate}$`, 'm'));
      expect(await shown()).toMatch(new RegExp(`^orders_per_second +${rate}$`, 'm'));
    }
  });

  it('creates no more orders a second than it was set to, from a second later on, and as many as it likes without', async () => {
    const store = await newStore();
    const setRate = (rate: string) => sameday('retailer', 'set-rate', store.retailerId, '--per-second', rate);
    const statuses = async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => place(store)));
      return new Set(answers.map(({ status }) => status));
    };
    expect(await statuses()).toEqual(new Set([201]));
    expect(await setRate('1')).toEqual({ retailer_id: store.retailerId, orders_per_second: 1 });
    await expect.poll(statuses).toContain(429);
    expect(await sameday('retailer', 'show', store.retailerId)).toMatchObject({ orders_per_second: 1 });
    await setRate('none');
    await expect.poll(statuses).toEqual(new Set([201]));
    expect(await setRate('default')).toMatchObject({ orders_per_second: null });
  });

  it('that is suspended, or whose key was rotated, is a stranger to other routes within a second', async () => {
    const store = await newStore();
    const { body } = await place(store);
    const read = async () => (await ask(`/orders/${body.order.id}`, { key: store.apiKey })).status;
    expect(await read()).toBe(200);
    await sameday('retailer', 'suspend', store.retailerId);
    expect(await knownFor(read)).toBeLessThan(1_000);
    await sameday('retailer', 'activate', store.retailerId);
    expect(await read()).toBe(200);
    await sameday('retailer', 'rotate-key', store.retailerId, '--yes');
    expect(await knownFor(read)).toBeLessThan(1_000);
  });
});

/** Asks until the answer is 401; for how many milliseconds from now questions were still sent that got another. */
async function knownFor(askStatus: () => Promise<number>): Promise<number> {
  const started = performance.now();
  let lastKnown = started;
  const refused = async () => {
    const sentAt = performance.now();
    const status = await askStatus();
    if (status !== 401) lastKnown = sentAt;
    return status;
  };
  await expect.poll(refused).toBe(401);
  return lastKnown - started;
}

describe('a driver', () => {
  it('is created, listed and shown, qualified for the tiers named', async () => {
    const driver = await newDriver('--tiers', 'priority, scheduled');
    const expected = { driver_id: driver.id, active: true, on_duty: false, tiers: ['priority', 'scheduled'] };
    expect(await sameday('driver', 'list')).toContainEqual(expect.objectContaining(expected));
    expect((await said(['driver', 'show', driver.id])).stdout).toMatch(/^tiers +priority, scheduled$/m);
    await driver.at({ lat: 12.5, lng: 45.25 });
    await driver.duty(true);
    await expect
      .poll(() => sameday<Record<string, unknown>>('driver', 'show', driver.id), { interval: 200 })
      .toMatchObject({ ...expected, on_duty: true, lat: 12.5, lng: 45.25, order_id: null });
  });

  it('who is deactivated gets no order from then on, and is signed out within a second', async () => {
    const store = await newStore();
    const driver = await freeDriver(store);
    const phone = await openPhone(driver.token);
    sockets.push(phone);
    await sameday('driver', 'deactivate', driver.id, '--yes');
    expect((await place(store)).body.order.status).toBe('pending_dispatch');
    const read = async () => (await ask('/driver/orders', { key: driver.token })).status;
    expect(await knownFor(read)).toBeLessThan(1_000);
    await expect.poll(() => phone.closedWith()).toBe(4401);
    const again = await openSocket('/driver/live');
    sockets.push(again);
    again.send({ type: 'hello', token: driver.token });
    await expect.poll(() => again.closedWith()).toBe(4401);
  });

  it('who is deactivated before the pickup loses his order to the next driver', async () => {
    const store = await newStore();
    const [driver, next] = [await freeDriver(store), await newDriver()];
    const { body } = await place(store);
    await next.at(northOf(store.point, 200));
    await next.duty(true);
    expect(await sameday('driver', 'deactivate', driver.id, '--yes')).toMatchObject({
      active: false,
      released_order_id: body.order.id,
      carried_order_id: null,
    });
    await untilOrder(store, body.order.id, { status: 'driver_assigned', driver_id: next.id });
    await knownFor(async () => (await ask('/driver/orders', { key: driver.token })).status);
  });

  it('who is deactivated with the parcel in hand delivers it, and is signed out then', async () => {
    const store = await newStore();
    const driver = await freeDriver(store);
    const { body } = await place(store);
    const id = body.order.id;
    const phone = await openPhone(driver.token);
    sockets.push(phone);
    expect((await driver.pickUp(id)).status).toBe(200);
    expect(await sameday('driver', 'deactivate', driver.id, '--yes')).toMatchObject({
      active: false,
      released_order_id: null,
      carried_order_id: id,
    });
    const state = () => phone.messages.filter(({ type }) => type === 'state').at(-1);
    await expect.poll(state).toMatchObject({ on_duty: false, order: { id, status: 'picked_up' } });
    const duty = (onDuty: boolean) =>
      ask('/driver/duty', { method: 'PUT', key: driver.token, body: { on_duty: onDuty } });
    expect([(await duty(true)).status, (await duty(false)).status]).toEqual([409, 200]);
    const moved = { method: 'POST', key: driver.token, body: northOf(store.point, 150) };
    expect((await ask('/driver/location', moved)).body).toMatchObject({ taken: true });
    expect((await place(store)).body.order.status).toBe('pending_dispatch');
    const photo = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } })
      .jpeg()
      .toBuffer();
    expect((await driver.deliver(id, photo)).status).toBe(200);
    expect(await show(store, id)).toMatchObject({ status: 'delivered', driver_id: driver.id });
    const read = async () => (await ask('/driver/orders', { key: driver.token })).status;
    expect(await knownFor(read)).toBeLessThan(1_000);
    await expect.poll(() => phone.closedWith()).toBe(4401);
  });
});

describe('an order', () => {
  it('is listed by status and shown with its events, payments, text and jobs', async () => {
    const store = await newStore();
    const driver = await freeDriver(store);
    const customer = { name: 'Jo Ng', email: 'jo@example.com', phone: newPhone(), sms_opt_in: true };
    const { body } = await place(store, { customer });
    await untilOrder(store, body.order.id, { payment_status: 'paid', sms_status: 'sent' });
    const assigned = await sameday<Printed[]>('order', 'list', '--status', 'driver_assigned');
    expect(assigned).toContainEqual(expect.objectContaining({ order_id: body.order.id, store: 'Corner Market' }));
    const delivered = await sameday<Printed[]>('order', 'list', '--status', 'delivered');
    expect(delivered.filter(({ order_id }) => order_id === body.order.id)).toEqual([]);
    const shown = await sameday<Record<string, Record<string, unknown>[]>>('order', 'show', body.order.id);
    expect(shown).toMatchObject({
      order: { id: body.order.id, status: 'driver_assigned', driver_id: driver.id },
      customer: { name: 'Jo Ng' },
      payments: [{ attempt: 1, status: 'paid', amount_cents: 799 }],
      text: { status: 'sent', sends: 1 },
    });
    expect(shown.events?.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
    expect(shown.jobs?.map(({ queue, done_at }) => [queue, typeof done_at]).toSorted()).toEqual([
      ['charge', 'string'],
      ['sms', 'string'],
    ]);
  });

  it('that waits is tried again where the operator asks, and one that does not wait is not', async () => {
    const store = await newStore();
    const driver = await newDriver('--tiers', 'scheduled');
    await driver.at(northOf(store.point, 40_000));
    await driver.duty(true);
    const { body } = await place(store, { delivery_tier: 'scheduled' });
    expect(body.order.status).toBe('pending_dispatch');
    expect(await sameday('order', 'redispatch', body.order.id)).toMatchObject({ redispatch: 'asked' });
    await driver.at(store.point);
    await untilOrder(store, body.order.id, { status: 'driver_assigned', driver_id: driver.id });
    const again = await said(['order', 'redispatch', body.order.id]);
    expect([again.code, again.stderr]).toEqual([1, 'No such order is waiting.\n']);
  });
});

describe('a failed job', () => {
  const jobsOf = (orderId: string) => sameday<Printed[]>('job', 'list', '--search', orderId);

  it('is listed with what the vendor said, and tried again: a charge on another card, once', async () => {
    const store = await newStore('--test-card', 'declined');
    await freeDriver(store);
    const { id } = (await place(store)).body.order;
    await untilOrder(store, id, { payment_status: 'failed' });
    const [job] = await jobsOf(id);
    expect(job).toMatchObject({ queue: 'charge', failure_code: 'generic_decline', store: 'Corner Market' });
    expect(job?.vendor_says).toMatch(/^Your card /);
    await sameday('retailer', 'set-card', store.retailerId, '--test-card', 'ok');
    const retry = ['job', 'retry', String(job?.job_id), '--yes'] as const;
    expect((await said(retry.slice(0, 3))).stderr).toBe('This charges the card of the store. Add --yes to do it.\n');
    expect(await sameday(...retry)).toMatchObject({ order_id: id, job: 'owed' });
    await untilOrder(store, id, { payment_status: 'paid' });
    expect(await said(retry)).toMatchObject({ code: 1, stderr: 'There is no such failed job.\n' });
    expect(await jobsOf(id)).toEqual([]);
  });

  it('of a text does not name the phone, is tried again while that is useful, and is dropped with --yes', async () => {
    const store = await newStore();
    const customer = { name: 'Lee', email: 'lee@example.com', phone: '+15005550001', sms_opt_in: true };
    const { id } = (await place(store, { customer })).body.order;
    const failed = async () => (await jobsOf(id)).map(({ job_id, vendor_says }) => [job_id, vendor_says]);
    await expect.poll(failed).toHaveLength(1);
    const [[first, words] = []] = await failed();
    expect(words).toBe("The 'To' number the phone is not a valid phone number.");
    // As if it had been refused a while ago: a text of just now is looked up first.
    await world.sql`update messages set counted_at = counted_at - interval '1 hour' where order_id = ${id}`;
    await sameday('job', 'retry', String(first));
    await expect.poll(failed).toMatchObject([[expect.any(Number), words]]);
    const [[second] = []] = await failed();
    expect(second).not.toBe(first);
    const asked = await said(['job', 'drop', String(second)]);
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('Add --yes to do it.')]);
    expect(await sameday('job', 'drop', String(second), '--yes')).toMatchObject({ job: 'dropped' });
    expect(await failed()).toEqual([]);
    await world.sql`
      update outbox set failure_code = 'outcome_unknown', settled_at = null where id = ${second ?? 0}`;
    expect(await said(['job', 'retry', String(second)])).toMatchObject({
      stderr: 'The text may have arrived, so it is not sent again.\n',
    });
  });
});

describe('a tier', () => {
  it("'s new fee is the next order's, and orders already created keep theirs", async () => {
    const store = await newStore();
    const before = await place(store, { delivery_tier: 'priority' });
    expect(before.body.order.delivery_fee).toBe(1299);
    for (const fee of [1450, 50, 1_000_000, 1299]) {
      const changed = await sameday('tier', 'set', 'priority', '--fee-cents', String(fee), '--yes');
      expect(changed).toMatchObject({ id: 'priority', fee_cents: fee, payout_cents: 950 });
      // The running service hears of it by a notice.
      const feeOf = async () => (await place(store, { delivery_tier: 'priority' })).body.order.delivery_fee;
      await expect.poll(feeOf).toBe(fee);
      expect((await place(store)).body.order.delivery_fee).toBe(799);
    }
    const tiers = await sameday<Printed[]>('tier', 'list');
    expect(tiers.map(({ id }) => id).toSorted()).toEqual(['priority', 'scheduled', 'standard']);
    expect((await show(store, before.body.order.id)).delivery_fee).toBe(1299);
  });
});

describe('a delivery that was none', () => {
  it('is taken, and its payout is held: the driver never left the store, and the photo is one pixel', async () => {
    const store = await newStore();
    const driver = await freeDriver(store);
    const { body } = await place(store);
    const id = body.order.id;
    await untilOrder(store, id, { payment_status: 'paid' });
    expect((await driver.pickUp(id)).status).toBe(200);
    // As if they had waited.
    await world.sql`update orders set assigned_at = now() - interval '20 minutes' where id = ${id}`;
    const pixel = await sharp({ create: { width: 1, height: 1, channels: 3, background: 'white' } })
      .jpeg()
      .toBuffer();
    expect((await driver.deliver(id, pixel)).status).toBe(200);
    const held = await sameday<Printed[]>('payout', 'list', '--driver', driver.id);
    expect(held).toMatchObject([{ order_id: id, status: 'held', reasons: ['at_pickup', 'blank_photo'] }]);
    const blank = await sameday<Printed[]>('payout', 'list', '--search', 'blank_photo', '--driver', driver.id);
    expect(blank.map(({ order_id }) => order_id)).toEqual([id]);
    expect(await sameday('payout', 'release', id)).toMatchObject({ payout_status: 'owed' });
  });
});

describe('a correction', () => {
  it('of a driver and of a store holds at once, and leaves the rest as it was', async () => {
    const store = await newStore();
    const driver = await freeDriver(store, '--tiers', 'priority');
    expect((await place(store)).body.order.status).toBe('pending_dispatch');
    const corrected = await sameday('driver', 'set', driver.id, '--tiers', 'standard', '--name', 'Sam Ryder');
    expect(corrected).toMatchObject({ name: 'Sam Ryder', phone: '+14155550177', tiers: ['standard'] });
    await expect.poll(async () => (await driver.state()).order).not.toBeNull();
    const at = ['--lat', '1.5', '--lng', '2.5'];
    const moved = await sameday('retailer', 'set', store.retailerId, '--name', 'Corner Shop', ...at);
    expect(moved).toMatchObject({ name: 'Corner Shop', address: ADDRESS, lat: 1.5, lng: 2.5 });
    const nothing = await said(['driver', 'set', driver.id]);
    expect([nothing.code, nothing.stderr]).toEqual([1, 'Name what to change; see --help.\n']);
  });
});

describe('the command line', () => {
  it('says its version, and errors as JSON to who asked for it', async () => {
    expect(await said(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    const errorOf = async (...args: string[]) => {
      const { code, stdout, stderr } = await said([...args, '--json']);
      return [code, stdout, (JSON.parse(stderr) as { error: string }).error];
    };
    expect(await errorOf('order', 'show', newId())).toEqual([1, '', 'There is no such order.']);
    expect(await errorOf('retailer', 'vanish')).toEqual([2, '', "error: unknown command 'vanish'"]);
  });
});

describe('a command that cannot be undone, or costs', () => {
  it('says what it would do, and does it with --yes', async () => {
    const store = await newStore();
    const driver = await newDriver();
    const at = ['--lat', '1', '--lng', '1'];
    for (const [args, sentence] of [
      [['retailer', 'rotate-key', store.retailerId], 'ends the keys of “Corner Market” at once'],
      [['driver', 'deactivate', driver.id], 'takes “Sam Rider”, who carries 0 orders, off the fleet for good'],
      [['driver', 'create', '--name', 'Sam', '--phone', '+14155550177'], 'A driver with this phone is there: '],
      [['retailer', 'create', '--name', 'Corner Market', '--address', ADDRESS, ...at], 'is there: '],
      [['tier', 'set', 'scheduled', '--payout-cents', '600'], 'payout of 600 cents is above its fee of 599 cents'],
    ] as const) {
      const asked = await said(args);
      expect([asked.code, asked.stdout]).toEqual([1, '']);
      expect(asked.stderr).toContain(sentence);
      expect(asked.stderr).toContain('Add --yes to do it.');
    }
    expect((await place(store)).status).toBe(201);
    const set = (...args: string[]) => said(['tier', 'set', 'scheduled', ...args]);
    expect((await set('--payout-cents', '600', '--yes')).code).toBe(0);
    expect((await set('--weight', '1')).code).toBe(0);
    expect((await set('--payout-cents', '450')).code).toBe(0);
  });
});

describe('a name with controls', () => {
  const hostile = 'Eve\u001b]52;c;eA==\u0007';

  it('is refused on the way in', async () => {
    const refused = await said(['driver', 'create', '--name', hostile, '--phone', '+14155550100']);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/^--name takes one line/)]);
    const create = ['--address', `${ADDRESS} 94110`, '--lat', '1', '--lng', '1'];
    expect((await said(['retailer', 'create', '--name', hostile, ...create])).code).toBe(1);
  });
});

describe('stats', () => {
  it('count orders, payments, texts, drivers and what the queues owe', async () => {
    const [orders] = await world.sql`select count(*)::int as n from orders`;
    const stats = await sameday<Record<string, Record<string, number>>>('stats');
    expect(stats.mode).toBe('sandbox');
    expect(Object.values(stats.orders_last_day ?? {}).reduce((sum, n) => sum + n, 0)).toBe(orders?.n);
    expect(stats.orders_under_way?.pending_dispatch).toBeGreaterThan(0);
    expect(stats.payments_last_day?.paid).toBeGreaterThan(0);
    expect(stats.drivers?.active).toBeGreaterThan(0);
    expect(stats).toHaveProperty('queues');
    expect(stats).toMatchObject({
      deliveries_per_hour: { last_hour: expect.any(Number), last_day: expect.any(Number) },
      planned_ahead: { orders: expect.any(Number) },
    });
    expect(Object.keys(stats)).toEqual(expect.arrayContaining(['parcels_per_trip', 'late_share']));
  });
});

describe('a command that cannot be done', () => {
  const id = newId();
  const create = ['retailer', 'create', '--name', 'A', '--address'];

  it.concurrent.each([
    [['retailer', 'show', id], 'There is no such store or application.'],
    [['retailer', 'approve', id], 'There is no such application.'],
    [['retailer', 'set-rate', id, '--per-second', '0'], '--per-second takes a whole number from 1 to 10000.'],
    [['retailer', 'set-card', id], 'Name the card: --stripe-customer and --payment-method, or --test-card.'],
    [['retailer', 'set-card', id, '--stripe-customer', 'cus_x'], '--stripe-customer and --payment-method go together.'],
    [['retailer', 'set-card', id, '--test-card', 'gold'], '--test-card is one of ok, declined, needs-auth, none.'],
    [[...create, 'Nowhere'], 'That address could not be found: give --lat and --lng.'],
    [[...create, 'X 94110', '--lat', '12'], '--lat is −90 to 90 and --lng is −180 to 180, together.'],
    [['driver', 'create', '--name', 'A', '--phone', '4155550123'], '--phone takes E.164 form, like +14155550123.'],
    [['driver', 'deactivate', id], 'There is no such driver.'],
    [['order', 'redispatch', id], 'No such order is waiting.'],
    [['tier', 'set', 'standard', '--fee-cents', '7.99'], '--fee-cents <n> takes a whole number from 50 to 1000000.'],
    [
      ['tier', 'set', 'standard', '--max-radius-meters', '10'],
      '--max-radius-meters must not be smaller than --radius-meters.',
    ],
  ])('says why in one line and exits with 1: %j', async (args, sentence) => {
    expect(await said(args)).toEqual({ code: 1, stdout: '', stderr: `${sentence}\n` });
  });

  it('is explained with its usage and exits with 2 where it is no command', async () => {
    const { code, stdout, stderr } = await said(['driver', 'activate', id]);
    expect([code, stdout, stderr.split('\n')[0]]).toEqual([2, '', "error: unknown command 'activate'"]);
    expect(stderr).toContain('Usage: sameday');
    expect(stderr).not.toContain('Did you mean');
  });

  it('ends its process with the same code, and says the same', async () => {
    for (const [code, args] of [
      [0, ['tier', 'list']],
      [1, ['order', 'show', id]],
      [2, ['retailer', 'vanish']],
    ] as const) {
      const told = await saidByProcess(args);
      expect(told.code).toBe(code);
      expect(told).toEqual(await said(args));
    }
  });

  it('changes nothing', async () => {
    const tiers = await sameday<Printed[]>('tier', 'list');
    expect(tiers.find((tier) => tier.id === 'standard')).toMatchObject({ fee_cents: 799, max_radius_meters: 25_000 });
    const [made] = await world.sql`select count(*)::int as n from retailers where name = 'A'`;
    const [hired] = await world.sql`select count(*)::int as n from drivers where name = 'A'`;
    expect([made?.n, hired?.n]).toEqual([0, 0]);
  });

  it('says so in one line where no service runs and no database is named, or none answers', async () => {
    const nowhere = newDataDir();
    const none = await said(['stats'], { DATA_DIR: nowhere.dataDir });
    expect([none.code, none.stderr]).toEqual([1, expect.stringMatching(/^No service is running on [^\n]+\n$/)]);
    const deaf = await said(['stats'], { DATABASE_URL: 'postgres://u:hidden-word@127.0.0.1:1/x' });
    expect([deaf.code, deaf.stderr]).toEqual([
      1,
      expect.stringMatching(/^Nothing listens at the address of DATABASE_URL\. [^\n]+\n$/),
    ]);
    expect(deaf.stderr).not.toContain('hidden-word');
    nowhere.remove();
  });
});

describe('secrets and personal data', () => {
  const customer = {
    name: 'Winifred Quackenbush',
    email: 'w.quackenbush@example.org',
    phone: '+14155567001',
    sms_opt_in: true,
  };
  const dropoff = {
    line1: '77 Hidden ConcurrencyLimit',
    line2: 'Attic Nine',
    city: 'Camp Humphreys',
    state: 'AP',
    zip: '96271',
  };
  const secrets: string[] = [];

  it('are told once to whom they belong, and the database holds only hashes of keys and tokens', async () => {
    const store = await newStore();
    const driver = await newDriver();
    const rotated = await sameday('retailer', 'rotate-key', store.retailerId, '--yes');
    const created = await said(['retailer', 'create', '--name', 'Once', '--address', `${ADDRESS} 94110`]);
    const [key = ''] = /sdk_test_[\w-]{32}/.exec(created.stdout) ?? [];
    expect(created.stdout.split(key)).toHaveLength(2);
    expect(created.stderr).not.toContain(key);
    secrets.push(store.apiKey, driver.token, rotated.api_key ?? '', key);
    const listings = await Promise.all([
      said(['retailer', 'list']),
      said(['retailer', 'show', store.retailerId]),
      said(['driver', 'list']),
      said(['driver', 'show', driver.id]),
    ]);
    const dump = await dumpDatabase();
    expect(dump).toContain(hashSecret(key));
    for (const secret of secrets) {
      expect(secret).toMatch(/^sd[kd]_(?:test_)?[\w-]{32}$/);
      for (const { code, stdout } of listings) expect([code, stdout.includes(secret)]).toEqual([0, false]);
      expect(dump.includes(secret) || dump.includes(secret.slice(4))).toBe(false);
      expect(dump).toContain(hashSecret(secret));
    }
  });

  it('are in no line of the log, at its most talkative, after everything went well and everything went wrong', async () => {
    const store = await newStore();
    const driver = await freeDriver(store);
    const body = { customer, dropoff_address: dropoff };
    // Vendors that fail in each of their ways first, then a number that cannot be texted.
    const status = { kind: 'status', status: 500, effect: 'before', sticky: false } as const;
    stripe.orderFaults({ next: [status, { kind: 'reset', effect: 'after' }, { kind: 'rate_limit' }] });
    twilio.orderFaults({ next: [{ kind: 'rate_limit' }, { kind: 'reset', effect: 'after' }, status] });
    const first = await place(store, body);
    const photo = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const { id, tracking_token: token } = first.body.order;
    const viewer = await openSocket(`/track/${token}/live`);
    sockets.push(viewer);
    await untilOrder(store, id, { payment_status: 'paid', sms_status: 'sent' });
    await driver.deliver(id, photo, 'image/png');
    await driver.pickUp(id);
    await driver.deliver(id, Buffer.from(customer.name), 'image/png');
    await driver.deliver(id, photo, 'image/png');
    await ask(`/track/${token}`);
    await ask(`/track/${token}/photo`);
    viewer.send(customer.name);
    const second = await place(store, { ...body, customer: { ...customer, phone: '+15005550001' } });
    await untilOrder(store, second.body.order.id, { sms_status: 'failed' });
    await place(store, { ...body, delivery_tier: customer.name });
    await place({ ...store, apiKey: `${store.apiKey}x` }, body);
    const malformed = { 'content-type': 'application/json' };
    const post = { method: 'POST', key: store.apiKey, headers: malformed };
    await ask('/orders/create', { ...post, body: `{"name": "${customer.name}", ` });
    await ask('/orders/create', { ...post, body: customer.name, headers: { 'content-type': 'text/plain' } });
    await ask(`/orders/${encodeURIComponent(customer.name)}`, { key: store.apiKey });
    await sameday('retailer', 'suspend', store.retailerId);
    await place(store, body);

    const log = world.output();
    const lines = log.split('\n').filter((line) => line.startsWith('{'));
    expect(lines.length).toBeGreaterThan(10);
    expect(log).toContain('request refused');
    expect(log).toContain('a job is tried again later');
    const personal = [...Object.values(dropoff).filter((value) => value.length > 5), 'Quackenbush', 'Winifred'];
    const digits = [customer.phone.slice(1), '15005550001', '4155550177'];
    const vendors = ['sk_test_secret0123456789', 'twilio-secret-0123456789', new URL(world.databaseUrl).password];
    const all = [...secrets, store.apiKey, driver.token, token, customer.email, ...personal, ...digits, ...vendors];
    for (const secret of [...all, ADDRESS, 'Corner Market', 'Sam Rider']) {
      expect(secret.length).toBeGreaterThan(4);
      expect(lines.filter((line) => line.includes(secret))).toEqual([]);
    }
    // The service prints the demo store's key for a person to paste, and nothing else of these.
    for (const secret of all) expect(log.includes(secret), secret).toBe(false);
  });
});

/** Every row of every table of ours and of the queues, as text. */
async function dumpDatabase(): Promise<string> {
  const { sql } = world;
  const tables = await sql`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`;
  expect(tables.length).toBeGreaterThan(10);
  const rows = await Promise.all(tables.map(({ name }) => sql.unsafe(`select t::text as row from ${name} t`)));
  return rows
    .flat()
    .map(({ row }) => row as string)
    .join('\n');
}
