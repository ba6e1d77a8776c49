import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEMO_STORE } from '../../src/sandbox/demo.ts';
import { runCli } from '../harness/command-line.ts';
import { jpeg } from '../harness/photo.ts';
import { newDataDir, orderBody, type Running, startBuiltService } from '../harness/service.ts';
import { type Answer, ask, type DriverState, driverOf, openPhone, openSocket } from './clients.ts';

/** A first name all below U+0100 is what a transport that writes Latin-1 breaks; the others it leaves alone. */
const CUSTOMER = 'José Ñandú';
const DRIVER = 'Zoë O’Brien 😀';
const DROPOFF = { line1: '401 Valencia St, 3º', city: 'San José', state: 'CA', zip: '94103' };

let service: Running;
const data = newDataDir();

beforeAll(async () => {
  service = await startBuiltService({ DATA_DIR: data.dataDir });
});
afterAll(async () => {
  await service?.stop();
  data.remove();
});

/** A driver of the demo store's, on duty at its door. */
async function hireDriver() {
  const env = { DATA_DIR: data.dataDir, SANDBOX: '1' };
  const hired = await runCli(env, 'driver', 'create', '--name', DRIVER, '--phone', '+14155550142');
  const driver = driverOf(service, hired.driver_id ?? '', hired.driver_token ?? '');
  await driver.at(DEMO_STORE.point);
  await driver.duty(true);
  return driver;
}

async function expectPage(path: string, text: string): Promise<void> {
  const page = await ask(service, path);
  expect(page.status).toBe(200);
  expect(Number(page.headers.get('content-length'))).toBe(Buffer.byteLength(page.text));
  expect(page.text).toContain(text);
}

test('an order whose names are not ASCII goes from its creation to the photo with all of them', async () => {
  const { retailerId, apiKey } = JSON.parse(readFileSync(join(data.dataDir, 'sandbox.json'), 'utf8'));
  const driver = await hireDriver();
  const phone = await openPhone(service, driver.token);
  const body = orderBody(retailerId, {
    customer: { name: CUSTOMER, email: 'jose@example.com', phone: '+14155550123', sms_opt_in: true },
    dropoff_address: DROPOFF,
  });
  const created = await ask(service, '/orders/create', { method: 'POST', key: apiKey, body });
  expect(created.status, created.text).toBe(201);
  const { id, tracking_token: token } = created.body.order;
  const shown = (): Promise<Answer> => ask(service, `/orders/${id}`, { key: apiKey });
  expect((await shown()).body.order).toMatchObject({
    status: 'driver_assigned',
    customer: { name: CUSTOMER },
    dropoff_address: DROPOFF,
    driver_name: DRIVER,
  });

  const given = { id, dropoff: { name: CUSTOMER, ...DROPOFF } };
  expect((await driver.state()).order).toMatchObject(given);
  const told = () => (phone.messages.at(-1) as DriverState | undefined)?.order;
  await expect.poll(told).toMatchObject(given);
  const page = await openSocket(service, `/track/${token}/live`);
  const seen = () => page.messages.filter(({ type }) => type === 'order').at(-1)?.order;
  await expect.poll(seen).toMatchObject({ status: 'driver_assigned', driver: { first_name: 'Zoë' } });
  await expectPage(`/track/${token}`, 'Zoë');

  expect((await driver.pickUp(id)).status).toBe(200);
  await expect.poll(seen).toMatchObject({ status: 'picked_up', driver: { first_name: 'Zoë' } });
  const delivered = await driver.deliver(id, await jpeg());
  expect([delivered.status, delivered.body.order.status]).toEqual([200, 'delivered']);
  await expect.poll(seen).toMatchObject({ status: 'delivered', photo_url: `/track/${token}/photo` });
  await expect
    .poll(async () => (await shown()).body.order)
    .toMatchObject({
      payment_status: 'paid',
      sms_status: 'delivered',
      customer: { name: CUSTOMER },
    });
  const proof = await fetch(`${service.url}/track/${token}/photo`);
  expect([proof.status, proof.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
  page.close();
  phone.close();
});
