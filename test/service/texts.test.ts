import { afterAll, describe, expect, it } from 'vitest';
import { startTwilioStandIn, type TwilioStandIn } from '../../src/sandbox/twilio-stand-in.ts';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { SENDER } from '../harness/vendor-rows.ts';
import { newPhone, northOf, type Store, type WireOrder } from './clients.ts';
import { useService } from './world.ts';

const PUBLIC_URL = 'https://delivery.sameday.test';
const TOKEN = 'twilio-secret-0123456789';
const SOON = { interval: 30 };

let twilio: TwilioStandIn;

afterAll(() => twilio?.close());
const world = useService(startServiceHere, async (dataDir) => {
  // The public address leads to the service, as a proxy would.
  const reach = (url: string) => url.replace(PUBLIC_URL, world.url);
  twilio = await startTwilioStandIn({ ledgerFile: `${dataDir}/twilio.jsonl`, reach });
  return {
    BASE_URL: PUBLIC_URL,
    TWILIO_ACCOUNT_SID: `AC${'7'.repeat(32)}`,
    TWILIO_AUTH_TOKEN: TOKEN,
    TWILIO_FROM: SENDER,
    TWILIO_API_BASE: twilio.url,
  };
});
const { addStore, addFreeDriver, ask, place, show, untilOrder, cli } = world;
const photo = await jpeg();

type Text = { readonly kind: string; readonly status: string; readonly failure_code: string | null; at: string };
const textsOf = (order: WireOrder) =>
  Object.fromEntries(
    (order as WireOrder & { texts: Text[] }).texts.map(({ kind, status, failure_code }) => [
      kind,
      failure_code ?? status,
    ]),
  );
const linksTo = (phone: string) =>
  (twilio.entries() as { to: string; body: string }[])
    .filter(({ to }) => to === phone)
    .map(({ body }) => body.split(`${PUBLIC_URL}/track/`)[1] ?? '');

/** An order of a store with every text, and its driver. */
async function ordered(phone = newPhone()) {
  const store = await addStore();
  const set = await cli<object>('retailer', 'set-texts', store.retailerId, '--kinds', 'delivered,on_the_way');
  expect(set).toMatchObject({ text_kinds: ['on_the_way', 'delivered'] });
  const driver = await addFreeDriver(northOf(store.point, 300));
  const customer = { name: 'Winifred', email: 'w@example.com', phone, sms_opt_in: true };
  const { body } = await place(store, { customer });
  const { id, tracking_token: token } = body.order;
  const texts = async () => textsOf(await show(store, id));
  return { store, driver, id, token, phone, texts };
}

describe('a customer who consented', () => {
  it('is told of each step once, and the store sees what arrived', async () => {
    const { store, driver, id, token, phone, texts } = await ordered();
    await untilOrder(store, id, { sms_status: 'delivered', sms_failure_code: null });
    expect((await driver.pickUp(id)).status).toBe(200);
    await expect.poll(texts, SOON).toEqual({ tracking: 'delivered', on_the_way: 'delivered' });
    expect((await driver.deliver(id, photo)).status).toBe(200);
    await expect.poll(texts, SOON).toEqual({ tracking: 'delivered', on_the_way: 'delivered', delivered: 'delivered' });
    expect(linksTo(phone)).toEqual([token, `${token}?t=o`, `${token}?t=d`]);
    for (const link of linksTo(phone)) expect((await fetch(`${world.url}/track/${link}`)).status).toBe(200);
    const { events } = await show(store, id);
    const told = events
      .filter(({ type }) => type.startsWith('sms_'))
      .map(({ type, data: of }) => `${type} ${of?.kind}`);
    expect(told.filter((each) => each.startsWith('sms_delivered'))).toEqual(
      ['tracking', 'on_the_way', 'delivered'].map((kind) => `sms_delivered ${kind}`),
    );
    expect(new Set(told).size).toBe(told.length);
  });

  it('whom a text did not reach is shown as such', async () => {
    const { store, id } = await ordered('+15005550010');
    await untilOrder(store, id, { sms_status: 'undelivered', sms_failure_code: '30003' });
  });

  it('who answers STOP gets no more texts of any kind, until START', async () => {
    const { driver, id, phone, texts } = await ordered();
    await expect.poll(texts, SOON).toMatchObject({ tracking: 'delivered' });
    const status = () => cli<{ opted_out: boolean }>('text', 'status', phone);
    twilio.receive({ from: phone, body: 'stop' });
    await expect.poll(status, SOON).toMatchObject({ opted_out: true, source: 'reply' });
    await driver.pickUp(id);
    await expect.poll(texts, SOON).toMatchObject({ on_the_way: 'opted_out' });
    expect(linksTo(phone)).toHaveLength(1);
    twilio.receive({ from: phone, body: 'START' });
    await expect.poll(status, SOON).toMatchObject({ opted_out: false });
    await driver.deliver(id, photo);
    await expect.poll(texts, SOON).toMatchObject({ delivered: 'delivered' });
    expect(await cli('text', 'opt-out', phone)).toMatchObject({ opted_out: true, source: 'operator' });
    expect(await cli('text', 'opt-in', phone)).toMatchObject({ opted_out: false });
    await expect(cli('text', 'status', '415')).rejects.toThrow('E.164');
  });
});

describe('a number of which no carrier takes texts', () => {
  it('is told everywhere, and keeps its texts', async () => {
    const readiness = async () => (await ask<object>('/readyz')).body;
    twilio.orderCalls({ codeOf: () => 30034 });
    const { store, id } = await ordered();
    await expect.poll(readiness, SOON).toMatchObject({ misconfigured: ['twilio_sender'] });
    await untilOrder(store, id, { sms_status: 'queued', sms_failure_code: null });
    expect(await cli('order', 'show', id)).toMatchObject({ credentials_refused_by: 'twilio_sender' });
    twilio.orderCalls({ codeOf: () => null });
  });
});

describe('a store', () => {
  it('chooses its texts by name', async () => {
    const { retailerId }: Store = await addStore();
    const set = (kinds: string) => cli<object>('retailer', 'set-texts', retailerId, '--kinds', kinds);
    await expect(set('arrived')).rejects.toThrow('--kinds is none, or of on_the_way, delivered, not_delivered');
    await expect(set('delivered,delivered')).rejects.toThrow('each once');
    expect(await set('not_delivered')).toMatchObject({ text_kinds: ['not_delivered'] });
    expect(await cli<object>('retailer', 'show', retailerId)).toMatchObject({ text_kinds: ['not_delivered'] });
    expect(await set('none')).toMatchObject({ text_kinds: [] });
  });
});
