import { request } from 'node:http';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newWebhookSecret } from '../../src/events/webhook-signature.ts';
import type { Fault } from '../../src/sandbox/faults.ts';
import type { StandIn } from '../../src/sandbox/stand-in.ts';
import type { Payment, Refund } from '../../src/sandbox/stripe-objects.ts';
import { startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { startTwilioStandIn } from '../../src/sandbox/twilio-stand-in.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { newDataDir, startBuiltService } from '../harness/service.ts';
import { storeOf } from '../harness/store.ts';
import { startWebhookReceiver, verifyWebhook, type WebhookReceiver } from '../harness/webhooks.ts';
import { addFreeDriver, addStore, ask, newPhone, northOf, place, type Store, storedPhotos } from './clients.ts';
import { type Carried, Phone, Restarting, type Step } from './phones.ts';

// The whole of it at once, over several kills; events.test.ts and later.test.ts kill once, and test/model daily.
const STORES = 3;
const DRIVERS = 13;
const ORDERS = 50;
const SOON = { interval: 20 };

/** What becomes of an order, and where it stands when the service is killed for the first time. */
type Story = {
  readonly end: 'delivered' | 'returned' | 'cancelled';
  /** Its driver goes no further before the first kill. */
  readonly holdAt?: 'driver_assigned' | 'picked_up' | 'undeliverable';
  /** Its driver's next step is sent in the moment of the first kill. */
  readonly atKill?: true;
  /** Its first driver gives it back. */
  readonly givenBack?: true;
};

/** Of each store, while the bank works. */
const CHARGED: readonly Story[] = [
  { end: 'delivered', holdAt: 'driver_assigned' },
  { end: 'delivered', holdAt: 'driver_assigned', atKill: true },
  { end: 'delivered', holdAt: 'picked_up' },
  { end: 'delivered', holdAt: 'picked_up', atKill: true },
  { end: 'returned', holdAt: 'picked_up', atKill: true },
  { end: 'returned', holdAt: 'undeliverable' },
  { end: 'returned', holdAt: 'undeliverable', atKill: true },
  { end: 'delivered', givenBack: true, holdAt: 'driver_assigned' },
  { end: 'delivered', givenBack: true, holdAt: 'driver_assigned', atKill: true },
];
/** One of each store; half its photo is there at the first kill. */
const UPLOADING: Story = { end: 'delivered', holdAt: 'picked_up', atKill: true };
/** One of each store; it was charged, and the bank hears of the refund and does not answer. */
const REFUNDED: Story = { end: 'cancelled', holdAt: 'driver_assigned' };
/** Of each store, while the bank does not answer. */
const IN_FLIGHT: readonly Story[] = [
  { end: 'delivered', holdAt: 'driver_assigned' },
  { end: 'cancelled', holdAt: 'driver_assigned' },
];
/** After those two were cancelled: the first takes a place, most wait for a driver. */
const LATE: Story = { end: 'delivered', holdAt: 'driver_assigned' };
const CANCELLED_LATE: Story = { end: 'cancelled', holdAt: 'driver_assigned' };

let database: FreshDatabase;
let stripe: StandIn;
let twilio: StandIn;
let receiver: WebhookReceiver;
let service: Restarting;
let photo: Buffer;
const phones: Phone[] = [];
const data = newDataDir();
const stories = new Map<string, Story>();
const ownerOf = new Map<string, Store>();
const customerOf = new Map<string, string>();
const secretOf = new Map<string, string>();
const firstDriverOf = new Map<string, string>();
/** Whether the drivers stop where their story says; those of `atKill` are let go in the moment of the kill. */
let holding: 'all' | 'some' | 'none' = 'all';
/** Whether stores leave their webhooks unanswered. */
let silent = false;

beforeAll(async () => {
  database = await freshDatabase();
  stripe = await startStripeStandIn({ ledgerFile: `${data.dataDir}/stripe.jsonl` });
  twilio = await startTwilioStandIn({ ledgerFile: `${data.dataDir}/twilio.jsonl` });
  receiver = await startWebhookReceiver(() => (silent ? null : 204));
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 60 };
  photo = await sharp({ create: { width: 300, height: 200, channels: 3, background: 'white', noise } })
    .jpeg()
    .toBuffer();
  service = new Restarting(() =>
    startBuiltService({
      DATABASE_URL: database.url,
      DATA_DIR: data.dataDir,
      // As anywhere outside a test: what customers are texted does not change with a start.
      TRACKING_URL: 'http://sameday.test',
      PAYMENT_WAIT_MS: '0',
      STRIPE_SECRET_KEY: 'sk_test_restart',
      STRIPE_API_BASE: stripe.url,
      TWILIO_ACCOUNT_SID: `AC${'7'.repeat(32)}`,
      TWILIO_AUTH_TOKEN: 'token',
      TWILIO_FROM: '+15005550006',
      TWILIO_API_BASE: twilio.url,
    }),
  );
  await service.up();
});

afterAll(async () => {
  for (const phone of phones) phone.close();
  await (await service?.up())?.stop();
  await stripe?.close();
  await twilio?.close();
  receiver?.close();
  await database?.drop();
  data.remove();
});

function nextStep({ id, status }: Carried, driverId: string): Step | null {
  const story = stories.get(id);
  if (!story || story.end === 'cancelled') return null;
  const first = firstDriverOf.get(id) ?? driverId;
  firstDriverOf.set(id, first);
  const isGivenBack = story.givenBack === true && first === driverId;
  const isHeld = holding === 'all' || (holding === 'some' && !story.atKill);
  if (isHeld && status === story.holdAt && !(isGivenBack && !story.atKill)) return null;
  if (status === 'driver_assigned') return isGivenBack ? 'release' : 'pick-up';
  if (status === 'picked_up') return story.end === 'returned' ? 'undeliverable' : 'deliver';
  return status === 'undeliverable' ? 'return' : null;
}

async function openStore(): Promise<Store> {
  const store = await addStore(database.sql);
  const secret = newWebhookSecret();
  secretOf.set(store.retailerId, secret);
  await storeOf(database.sql).setWebhook(store.retailerId, `${receiver.url}/hook`, secret);
  for (let index = 0; index < DRIVERS; index++) {
    const at = northOf(store.point, 10 * index);
    const driver = await addFreeDriver(await service.up(), database.sql, at);
    phones.push(new Phone(service, driver, at, photo, nextStep));
  }
  return store;
}

async function order(store: Store, story: Story): Promise<string> {
  const phone = newPhone();
  const customer = { name: 'Jordan Lee', email: 'jordan@example.com', phone, sms_opt_in: true };
  const answer = await place(await service.up(), store, { customer });
  expect(answer.status, answer.text).toBe(201);
  const { id } = answer.body.order;
  stories.set(id, story);
  ownerOf.set(id, store);
  customerOf.set(id, phone);
  // Its driver may have heard of it before we did.
  for (const each of phones) if (each.told?.id === id) void each.work();
  return id;
}

const orderAll = (stores: readonly Store[], list: readonly Story[]) =>
  Promise.all(stores.flatMap((store) => list.map((story) => order(store, story))));

/** The store calls it off, and asks again until it has an answer. */
async function cancel(orderId: string): Promise<void> {
  const { apiKey = '' } = ownerOf.get(orderId) ?? {};
  for (;;) {
    const sent = { method: 'POST', key: apiKey, body: { reason: 'out_of_stock' } };
    const answer = await ask(await service.up(), `/orders/${orderId}/cancel`, sent).catch(() => null);
    if (answer === null || answer.status >= 500) continue;
    expect(answer.status, answer.text).toBe(200);
    return;
  }
}

/** A phone in bad reception: the first half of the photo, and then nothing. */
async function uploadHalf(orderId: string): Promise<void> {
  const phone = phones.find(({ told }) => told?.id === orderId);
  const { url } = await service.up();
  const sent = request(`${url}/driver/orders/${orderId}/deliver?action_id=${orderId}.deliver`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${phone?.driver.token}`,
      'content-type': 'image/jpeg',
      'content-length': photo.length,
    },
  });
  sent.on('error', () => undefined);
  sent.write(photo.subarray(0, photo.length / 2));
}

const faults = (count: number, ...kinds: readonly Fault[]): Fault[] =>
  Array.from({ length: count }, (_, index) => kinds[index % kinds.length] as Fault);
const UNHEARD: Fault = { kind: 'hang', effect: 'after' };
const UNREACHED: Fault = { kind: 'hang', effect: 'before' };

const payments = () => stripe.entries().filter((entry): entry is Payment => (entry as Payment).type === 'payment');
const refunds = () => stripe.entries().filter((entry): entry is Refund => (entry as Refund).type === 'refund');

async function count(query: Promise<readonly { n?: number }[]>): Promise<number> {
  return (await query)[0]?.n ?? -1;
}
const inState = (...statuses: string[]) =>
  count(database.sql`select count(*)::int as n from orders where status = any(${statuses}::text[])`);
const paid = () => count(database.sql`select count(*)::int as n from orders where payment_status = 'paid'`);
const texted = () => count(database.sql`select count(*)::int as n from orders where sms_status = 'sent'`);
const ended = () => inState('delivered', 'returned', 'cancelled');
/** What is owed soon, with the deliveries that wait behind a receiver which was silent. */
const owed = () =>
  count(
    database.sql`
      select count(*)::int as n from outbox
      where done_at is null and (parked_for is not null or run_at < now() + interval '1 minute')`,
  );

/** Kills the service; what it held on lease is given up at once instead of in its time. */
async function killAndStart(): Promise<void> {
  await service.kill();
  stripe.orderFaults({ next: [] });
  twilio.orderFaults({ next: [] });
  await database.sql`
    update outbox set lease_until = now() where done_at is null and run_at < now() + interval '1 minute'`;
  await service.startAgain();
}

/** The phones find what they left: each the order that the tables say it carries. */
async function reconnect(): Promise<void> {
  await Promise.all(phones.map((phone) => phone.connect()));
}

test('killed again and again amid fifty deliveries, the service loses none and repeats nothing', async () => {
  const stores = [await openStore(), await openStore(), await openStore()];
  expect(stores).toHaveLength(STORES);
  await reconnect();

  // Orders at every stage; the bank and the texts work.
  await orderAll(stores, CHARGED);
  const uploading = await orderAll(stores, [UPLOADING]);
  const refunded = await orderAll(stores, [REFUNDED]);
  const charged = stories.size;
  await expect.poll(paid, SOON).toBe(charged);
  await expect.poll(texted, SOON).toBe(charged);
  await expect.poll(() => inState('driver_assigned'), SOON).toBe(STORES * 5);
  await expect.poll(() => inState('picked_up'), SOON).toBe(STORES * 4);
  await expect.poll(() => inState('undeliverable'), SOON).toBe(STORES * 2);

  // Charges and texts in flight: some have reached their vendor and some have not, and no answer comes.
  stripe.orderFaults({ next: faults(100, UNHEARD, UNREACHED) });
  twilio.orderFaults({ next: faults(100, UNHEARD, UNREACHED) });
  const inFlight = await orderAll(stores, IN_FLIGHT);
  const sending = () => count(database.sql`select count(*)::int as n from payments where status = 'sending'`);
  await expect.poll(sending, SOON).toBe(inFlight.length);

  // From here stores do not answer their webhooks. A refund that is in flight, one that waits for its charge.
  silent = true;
  stripe.orderFaults({ next: faults(100, UNHEARD) });
  const toCancel = inFlight.filter((id) => stories.get(id)?.end === 'cancelled');
  await Promise.all([...refunded, ...toCancel].map(cancel));
  await expect.poll(() => refunds().length, SOON).toBe(refunded.length);

  // The rest: two drivers of each store are free, and the others' orders wait.
  const cancelledLate = await orderAll(stores, [CANCELLED_LATE]);
  while (stories.size < ORDERS) await order(stores[stories.size % STORES] as Store, LATE);
  await expect.poll(() => inState('pending_dispatch'), SOON).toBeGreaterThan(0);

  // Phones in the middle of their next step.
  await Promise.all(uploading.map(uploadHalf));
  const open = async () =>
    Number(/^sameday_http_in_flight (\d+)/m.exec((await ask(await service.up(), '/metrics')).text)?.[1]);
  await expect.poll(open, SOON).toBeGreaterThanOrEqual(uploading.length);
  await expect.poll(() => receiver.seen.length, SOON).toBeGreaterThan(charged);
  holding = 'some';
  const cancels = Promise.all(cancelledLate.map(cancel));
  await Promise.race([...phones.map((phone) => phone.work()), cancels]);
  await killAndStart();

  // What each phone is told when it is back is what the tables say.
  holding = 'all';
  silent = false;
  await reconnect();
  const carried = () => database.sql`
    select driver_id, id, status from orders where status in ('driver_assigned', 'picked_up', 'undeliverable')`;
  expect((await carried()).length).toBeGreaterThan(STORES * 8);
  // What was sent in the moment of the kill is still being sent again, and moves both.
  const mistold = async () =>
    (await carried()).filter(({ driver_id: driverId, id, status }) => {
      const told = phones.find(({ driver }) => driver.id === driverId)?.told;
      return told?.id !== id || told?.status !== status;
    });
  await expect.poll(mistold, SOON).toEqual([]);
  holding = 'none';
  for (const phone of phones) void phone.work();

  // Twice more, wherever everything stands by then.
  for (const most of [20, 35]) {
    await expect.poll(ended, SOON).toBeGreaterThanOrEqual(most);
    await killAndStart();
    await reconnect();
  }
  await cancels;
  await expect.poll(ended, { interval: 50 }).toBe(ORDERS);
  await expect.poll(owed, { interval: 50 }).toBe(0);

  expect(phones.flatMap(({ refused }) => refused)).toEqual([]);
  await checkOrders();
  checkMoney(await database.sql`select id, payment_status from orders`);
  checkTexts(await database.sql`select id, assigned_at is not null as was_assigned from orders`);
  await checkTold();
});

/** Every order is where its story ends, and its events are counted through, each step once. */
async function checkOrders(): Promise<void> {
  const rows = await database.sql`
    select id, status, sequence, photo_name,
      (select json_agg(json_build_object('sequence', sequence, 'type', type) order by sequence)
       from order_events where order_id = orders.id) as events
    from orders`;
  expect(rows).toHaveLength(ORDERS);
  const photos = storedPhotos(data.dataDir);
  for (const { id, status, sequence, photo_name: name, events } of rows) {
    expect(status).toBe(stories.get(id)?.end);
    expect(events.map((event: { sequence: number }) => event.sequence)).toEqual(
      Array.from({ length: sequence }, (_, index) => index + 1),
    );
    const types: string[] = events.map((event: { type: string }) => event.type);
    const once = status === 'cancelled' ? ['cancelled'] : ['picked_up', status, 'payment_paid'];
    for (const type of once)
      expect(
        types.filter((each) => each === type),
        `${type} in ${types}`,
      ).toHaveLength(1);
    const times = stories.get(id)?.givenBack ? 1 : 0;
    expect(types.filter((each) => each === 'released')).toHaveLength(times);
    if (status === 'delivered') expect(photos).toContain(name);
  }
}

/** One successful payment an order that was delivered or carried back; what was taken for a cancelled one was given back. */
function checkMoney(rows: readonly { id?: string; payment_status?: string }[]): void {
  for (const { id = '', payment_status: status } of rows) {
    const taken = payments().filter(({ metadata, answer }) => metadata.order_id === id && answer.kind === 'paid');
    const given = refunds().filter(({ paymentIntent }) => taken.some((payment) => payment.id === paymentIntent));
    if (stories.get(id)?.end === 'cancelled') {
      expect(taken.length).toBeLessThanOrEqual(1);
      expect(given).toHaveLength(taken.length);
      expect(status).toBe(taken.length === 1 ? 'refunded' : 'not_charged');
    } else {
      expect([taken.length, given.length, status]).toEqual([1, 0, 'paid']);
    }
  }
  expect(payments().every(({ answer }) => answer.kind === 'paid')).toBe(true);
}

/** Nobody was texted twice. Whoever's order went out was texted; one called off before its text was sent need not be. */
function checkTexts(rows: readonly { id?: string; was_assigned?: boolean }[]): void {
  const texts = twilio.entries() as { to: string }[];
  for (const { id = '', was_assigned: wasAssigned } of rows) {
    const sent = texts.filter(({ to }) => to === customerOf.get(id)).length;
    if (wasAssigned && stories.get(id)?.end !== 'cancelled') expect(sent).toBe(1);
    else expect(sent).toBeLessThanOrEqual(1);
  }
}

/** Each event that stores are told of arrived under one id, which no other event has, and verifies. */
async function checkTold(): Promise<void> {
  const rows = await database.sql`
    select order_id, sequence, 'order.' || case type when 'driver_assigned' then 'assigned' else type end as type
    from order_events where type in ('driver_assigned', 'picked_up', 'delivered', 'cancelled', 'undeliverable',
      'returned', 'refunded', 'payment_failed', 'expired', 'released')`;
  const ids = new Map<string, Set<unknown>>();
  for (const { headers, body, event } of receiver.seen) {
    const { order_id: orderId, retailer_id: retailerId, sequence } = event.data;
    expect(verifyWebhook(secretOf.get(String(retailerId)) ?? '', headers, body)).toEqual(event);
    const key = `${orderId} ${sequence} ${event.type}`;
    ids.set(key, (ids.get(key) ?? new Set()).add(headers['webhook-id']));
  }
  expect([...ids.keys()].sort()).toEqual(rows.map((row) => `${row.order_id} ${row.sequence} ${row.type}`).sort());
  expect([...ids.values()].every(({ size }) => size === 1)).toBe(true);
  expect(new Set([...ids.values()].flatMap((each) => [...each])).size).toBe(rows.length);
  // Some came twice, since the service died before it heard that they had arrived.
  expect(receiver.seen.length).toBeGreaterThan(rows.length);
}
