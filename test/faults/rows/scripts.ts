import type { Browser, Page } from 'playwright-core';
import { hashSecret, newId, newSecret } from '../../../src/domain/ids.ts';
import { staysOnOneLine } from '../../../src/domain/text.ts';
import { TIER_IDS } from '../../../src/domain/tier.ts';
import { MAX_CITY_LENGTH } from '../../../src/http/schemas.ts';
import { TEST_CARDS } from '../../../src/sandbox/test-cards.ts';
import { findChromium, launchBrowser } from '../../harness/chromium.ts';
import { orderBody } from '../../harness/service.ts';
import { storeOf } from '../../harness/store.ts';
import { OVERSEAS_DROPOFF } from '../../harness/towns.ts';
import { shuffled } from '../../harness/world.ts';
import { isWatched, misses, strangeIn, watchPages } from '../pages.ts';
import { askUntilTaken, smallPhoto } from '../phones.ts';
import { endedOnes, inWorld, type Row, type RowResult } from '../row.ts';
import { SCRIPTS } from '../scripts.ts';
import type { World } from '../world.ts';

const PHONES = 2;
/** An operator's text, which Leaflet would treat as markup. */
const MAP = { TILE_URL: '/tiles/{z}/{x}/{y}.png', TILE_ATTRIBUTION: '<img src=x onerror=ran()>' };

/** A driver with the page open in a region of their own, and the problems on that page. */
type Region = {
  readonly world: World;
  readonly api: string;
  readonly driverPage: Page;
  readonly customerPage: Page;
  readonly driverId: string;
  readonly token: string;
  readonly at: { readonly lat: number; readonly lng: number };
  readonly photo: Buffer;
  readonly problems: string[];
};

export const scriptPayloads: Row = {
  name: 'script-payloads',
  what: 'a script in every text that a store, an operator or a driver can send, looked at in Chromium',
  count: 200,
  async run(count, random) {
    if (!findChromium()) return { count: 0, orders: 0, findings: ['no Chromium on the PATH'] };
    const browser = await launchBrowser();
    const act = async (world: World): Promise<RowResult> => {
      const problems: string[] = [];
      const scripts = shuffled(SCRIPTS, random).slice(0, count);
      const work = async (number: number): Promise<void> => {
        const region = await openRegion(world, browser.context.browser() as Browser, number, problems);
        for (let script = scripts.shift(); script !== undefined; script = scripts.shift()) await look(region, script);
      };
      const done = scripts.length;
      await Promise.all(Array.from({ length: PHONES }, (_, i) => work(i)));
      problems.push(...(await proveWatch(world, browser.context.browser() as Browser)));
      return { count: done, orders: done, findings: [...new Set(problems)] };
    };
    try {
      return await inWorld({ drivers: 10, stores: 1, apis: 1, workers: 1, env: MAP }, act, endedOnes);
    } finally {
      await browser.close();
    }
  },
};

async function openRegion(world: World, browser: Browser, number: number, problems: string[]): Promise<Region> {
  const api = world.apis[0]?.url() as string;
  const [driverId, token] = [newId(), newSecret('driver_token')];
  const driver = { id: driverId, name: 'x', phone: '+14155550177', tokenHash: hashSecret(token), tierIds: TIER_IDS };
  await storeOf(world.sql, 'faults').createDriver(driver);
  // Far from every town and from each other.
  const at = { lat: -40 - number * 5, lng: 100 };
  await askUntilTaken(`${api}/driver/location`, { method: 'POST', key: token, body: at });
  await askUntilTaken(`${api}/driver/duty`, { method: 'PUT', key: token, body: { on_duty: true } });
  // Each driver's page has its own storage.
  const context = await browser.newContext({
    geolocation: { latitude: at.lat, longitude: at.lng },
    permissions: ['geolocation'],
  });
  await watchPages(context, api, problems);
  const driverPage = await context.newPage();
  await driverPage.goto(`${api}/driver`);
  await driverPage.locator('#token').fill(token);
  await driverPage.locator('#sign-in-button').click();
  const customerPage = await context.newPage();
  return { world, api, driverPage, customerPage, driverId, token, at, photo: await smallPhoto(), problems };
}

/** Runs one order with the script in every field, from its creation to the photo, on both pages. */
async function look(region: Region, script: string): Promise<void> {
  const { world, api, driverPage, customerPage, driverId, token, at, photo, problems } = region;
  const name = script.trim();
  const [line1, line2, city] = [`1 ${name}`, `2 ${name}`, name.slice(0, MAX_CITY_LENGTH).trim()];
  const address = `3 ${name}`;
  // The page's name of the driver ends at the first space.
  await world.sql`update drivers set name = ${name} where id = ${driverId}`;
  await askUntilTaken(`${api}/driver/location`, { method: 'POST', key: token, body: at });
  const { retailerId, key } = await openStore(region, name, address);
  const order = await askUntilTaken(`${api}/orders/create`, {
    method: 'POST',
    key,
    body: orderBody(retailerId, {
      customer: {
        name,
        // What of it may stand before the @, behind a letter, so that something does.
        email: `a${name.replace(/[^\w!#$%&'*+/=?^`{|}~-]/g, '').slice(0, 60)}@example.com`,
        phone: '+14155550123',
      },
      pickup_address: address,
      dropoff_address: { ...OVERSEAS_DROPOFF, line1, line2, city },
      external_id: name,
      metadata: { said: name },
      items: [{ name, quantity: 2 }],
      pickup_instructions: name,
      dropoff_instructions: name,
      [name]: name,
    }),
  });
  const { id, tracking_token } = (order.body?.order ?? {}) as { id?: string; tracking_token?: string };
  // What would leave its line is refused by name.
  if (id === undefined && order.status === 400 && !staysOnOneLine(name)) return;
  if (id === undefined) return void problems.push(`script: ${name} was refused: ${order.text}`);

  const shows = async (page: Page, element: string, text: string): Promise<void> => {
    problems.push(...(await misses(page, element, text)));
  };
  const act = (step: string, body: object, type?: string) =>
    askUntilTaken(`${api}/driver/orders/${id}/${step}`, {
      method: 'POST',
      key: token,
      body,
      ...(type ? { type } : {}),
    });
  const first = name.split(' ')[0] || 'Your driver';
  await customerPage.goto(`${api}/track/${tracking_token}`);
  await shows(customerPage, 'headline', `${first} is on the way to the store`);
  await shows(customerPage, 'store', name);
  await shows(driverPage, 'order-step', 'Pick up at');
  await shows(driverPage, 'order-headline', name);
  await shows(driverPage, 'order-address', address.replace(', ', ''));
  await shows(driverPage, 'stops', `Deliver to ${name}${line1}, ${line2}, ${city}, AP 96204`);
  await shows(driverPage, 'order-notes', `At the store${name}Items2 × ${name}`);
  await act('pick-up', {});
  await shows(customerPage, 'headline', `${first} is on the way with your order`);
  await shows(customerPage, 'detail', `It was picked up at ${name} and is coming to you.`);
  await shows(driverPage, 'order-step', 'Deliver to');
  await shows(driverPage, 'order-headline', name);
  await shows(driverPage, 'order-address', `${line1}${city}, AP 96204`);
  await shows(driverPage, 'order-notes', `Unit${line2}Instructions${name}Items2 × ${name}`);
  problems.push(...(await strangeIn(driverPage)));
  await act('deliver', photo, 'image/jpeg');
  await shows(customerPage, 'detail', `${first} brought it from ${name}.`);
  problems.push(...(await strangeIn(customerPage)));
  // The same page without the script, for the next one to load.
  await customerPage.reload();
  await shows(customerPage, 'detail', `${first} brought it from ${name}.`);
  await shows(driverPage, 'idle-headline', 'Waiting for an order');
}

async function proveWatch(world: World, browser: Browser): Promise<string[]> {
  const [api, seen] = [world.apis[0]?.url() as string, [] as string[]];
  const context = await browser.newContext();
  await watchPages(context, api, seen);
  const page = await context.newPage();
  await page.goto(`${api}/track/none`);
  return (await isWatched(page, seen)) ? [] : ['script: one that was put into a page was not noticed'];
}

async function openStore({ world, at }: Region, name: string, address: string) {
  const [retailerId, key] = [newId(), newSecret('api_key')];
  const { customer: stripeCustomerId, paymentMethod: stripePaymentMethodId } = TEST_CARDS.ok;
  const store = { id: retailerId, name, address, point: at, stripeCustomerId, stripePaymentMethodId };
  await storeOf(world.sql).createRetailer(store, { id: newId(), keyHash: hashSecret(key) });
  return { retailerId, key };
}
