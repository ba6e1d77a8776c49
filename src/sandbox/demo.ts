import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashSecret, newId, newSecret } from '../domain/ids.ts';
import { TIER_IDS } from '../domain/tier.ts';
import { DEFAULT_VEHICLE, type Vehicle } from '../domain/vehicle.ts';
import type { Point } from '../geo/point.ts';
import { EXAMPLE_RETAILER_ID } from '../http/openapi/field-texts.ts';
import { MAX_SIMULATED_DRIVERS } from '../limits.ts';
import type { Store } from '../store/store.ts';
import { TEST_CARDS } from './test-cards.ts';

/** The demo store's registered address and point, around which the simulated drivers move. */
export const DEMO_STORE = {
  name: 'Mission Street Market',
  address: '2000 Mission St, San Francisco, CA 94110',
  point: { lat: 37.76415, lng: -122.41957 } satisfies Point,
};

type DemoTables = Pick<
  Store,
  'createRetailer' | 'createDriver' | 'findKey' | 'findDriverByToken' | 'showRetailer' | 'setWebhook'
>;

export type Demo = {
  readonly retailerId: string;
  readonly apiKey: string;
  readonly driverTokens: readonly string[];
  /** The token of a driver who is not simulated: for the person at the keyboard. */
  readonly yourDriverToken: string;
};

const FIRST_NAMES = ['Ana', 'Ben', 'Carla', 'Dev', 'Elif', 'Femi', 'Grace', 'Hugo', 'Ines', 'Jun'];

/**
 * Makes the sandbox's demo store and simulated drivers once. Their secrets are in `sandbox.json` in the data
 * folder, readable by its owner only, since the database holds hashes; those that do not fit the database are
 * made anew.
 */
export async function ensureDemo(store: DemoTables, dataDir: string, drivers: number): Promise<Demo> {
  const file = join(dataDir, 'sandbox.json');
  const kept = readKept(file);
  const demoStore = await keptStore(store, kept);
  const driverTokens = await keptDrivers(store, kept.driverTokens ?? [], drivers);
  while (driverTokens.length < drivers) {
    const index = driverTokens.length;
    const name = `${FIRST_NAMES[index % FIRST_NAMES.length]} (simulated ${index + 1})`;
    driverTokens.push(await newDriver(store, name, index));
  }
  const [yours = await newDriver(store, 'Sam Rivera (you)', MAX_SIMULATED_DRIVERS)] = await keptDrivers(
    store,
    kept.yourDriverToken ? [kept.yourDriverToken] : [],
    1,
  );
  const demo = { ...(demoStore ?? (await newStore(store))), driverTokens, yourDriverToken: yours };
  writeFileSync(file, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  return demo;
}

/** The URL of the demo's own receiver, whose port differs at each start. */
const RECEIVER = /^http:\/\/127\.0\.0\.1:\d+\/demo-store$/;

/** Sets the demo store's webhook to its own receiver, unless another one was set for it. */
export async function tellDemoStore(
  store: DemoTables,
  retailerId: string,
  receiverUrl: string,
  secret: string,
): Promise<void> {
  const shown = await store.showRetailer(retailerId);
  const webhook = (shown?.webhook ?? null) as { readonly url: string } | null;
  if (webhook === null || RECEIVER.test(webhook.url)) {
    await store.setWebhook(retailerId, `${receiverUrl}/demo-store`, secret);
  }
}

function readKept(file: string): Partial<Demo> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Partial<Demo>;
  } catch {
    return {};
  }
}

async function keptStore(store: DemoTables, { retailerId, apiKey }: Partial<Demo>) {
  if (!retailerId || !apiKey) return null;
  const key = await store.findKey(hashSecret(apiKey));
  return key?.retailerId === retailerId ? { retailerId, apiKey } : null;
}

async function keptDrivers(store: DemoTables, tokens: readonly string[], most: number): Promise<string[]> {
  const good: string[] = [];
  for (const token of tokens.slice(0, most)) if (await store.findDriverByToken(hashSecret(token))) good.push(token);
  return good;
}

/** Makes the store under the id of the API's examples, so that they fit it, or a new one where that is taken. */
async function newStore(
  store: DemoTables,
  retailerId = EXAMPLE_RETAILER_ID,
): Promise<Pick<Demo, 'retailerId' | 'apiKey'>> {
  const apiKey = newSecret('api_key', 'test');
  const isMade = await store.createRetailer(
    {
      id: retailerId,
      ...DEMO_STORE,
      stripeCustomerId: TEST_CARDS.ok.customer,
      stripePaymentMethodId: TEST_CARDS.ok.paymentMethod,
    },
    { id: newId(), keyHash: hashSecret(apiKey) },
  );
  return isMade ? { retailerId, apiKey } : newStore(store, newId());
}

/** The first simulated driver drives a van, so that an order of every size finds one; the others a car. */
const vehicleOf = (index: number): Vehicle => (index === 0 ? 'van' : DEFAULT_VEHICLE);

/** Makes a driver. The numbers 555-0100 to 555-0199 are reserved for fiction. */
async function newDriver(store: DemoTables, name: string, index: number): Promise<string> {
  const token = newSecret('driver_token');
  const phone = `+1415555${String(100 + (index % 100)).padStart(4, '0')}`;
  await store.createDriver({
    id: newId(),
    name,
    phone,
    tokenHash: hashSecret(token),
    tierIds: TIER_IDS,
    vehicle: vehicleOf(index),
  });
  return token;
}
