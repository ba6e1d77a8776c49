import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashSecret, newId, newSecret } from '../domain/ids.ts';
import { TIER_IDS } from '../domain/tier.ts';
import type { Point } from '../geo/point.ts';
import { MAX_SIMULATED_DRIVERS } from '../limits.ts';
import type { Sql } from '../postgres/connect.ts';
import { createDriver, findDriverByToken } from '../store/drivers.ts';
import { showRetailer } from '../store/operator.ts';
import { createRetailer, findKey } from '../store/retailers.ts';
import { setWebhook } from '../store/webhook-endpoints.ts';
import { TEST_CARDS } from './test-cards.ts';

/** The demo store's registered address and point, around which the simulated drivers move. */
export const DEMO_STORE = {
  name: 'Mission Street Market',
  address: '2000 Mission St, San Francisco, CA 94110',
  point: { lat: 37.76415, lng: -122.41957 } satisfies Point,
};

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
export async function ensureDemo(sql: Sql, dataDir: string, drivers: number, origin: string): Promise<Demo> {
  const file = join(dataDir, 'sandbox.json');
  const kept = readKept(file);
  const store = await keptStore(sql, kept);
  const driverTokens = await keptDrivers(sql, kept.driverTokens ?? [], drivers);
  while (driverTokens.length < drivers) {
    const index = driverTokens.length;
    const name = `${FIRST_NAMES[index % FIRST_NAMES.length]} (simulated ${index + 1})`;
    driverTokens.push(await newDriver(sql, name, index, origin));
  }
  const [yours = await newDriver(sql, 'You', MAX_SIMULATED_DRIVERS, origin)] = await keptDrivers(
    sql,
    kept.yourDriverToken ? [kept.yourDriverToken] : [],
    1,
  );
  const demo = { ...(store ?? (await newStore(sql))), driverTokens, yourDriverToken: yours };
  writeFileSync(file, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  return demo;
}

/** The URL of the demo's own receiver, whose port differs at each start. */
const RECEIVER = /^http:\/\/127\.0\.0\.1:\d+\/demo-store$/;

/** Sets the demo store's webhook to its own receiver, unless another one was set for it. */
export async function tellDemoStore(sql: Sql, retailerId: string, receiverUrl: string, secret: string): Promise<void> {
  const shown = await showRetailer(sql, retailerId);
  const webhook = (shown?.webhook ?? null) as { readonly url: string } | null;
  if (webhook === null || RECEIVER.test(webhook.url)) {
    await setWebhook(sql, retailerId, `${receiverUrl}/demo-store`, secret);
  }
}

function readKept(file: string): Partial<Demo> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Partial<Demo>;
  } catch {
    return {};
  }
}

async function keptStore(sql: Sql, { retailerId, apiKey }: Partial<Demo>) {
  if (!retailerId || !apiKey) return null;
  const key = await findKey(sql, hashSecret(apiKey));
  return key?.retailerId === retailerId ? { retailerId, apiKey } : null;
}

async function keptDrivers(sql: Sql, tokens: readonly string[], most: number): Promise<string[]> {
  const good: string[] = [];
  for (const token of tokens.slice(0, most)) if (await findDriverByToken(sql, hashSecret(token))) good.push(token);
  return good;
}

async function newStore(sql: Sql): Promise<Pick<Demo, 'retailerId' | 'apiKey'>> {
  const retailerId = newId();
  const apiKey = newSecret('api_key');
  await createRetailer(
    sql,
    {
      id: retailerId,
      ...DEMO_STORE,
      stripeCustomerId: TEST_CARDS.ok.customer,
      stripePaymentMethodId: TEST_CARDS.ok.paymentMethod,
    },
    { id: newId(), keyHash: hashSecret(apiKey) },
  );
  return { retailerId, apiKey };
}

/** Makes a driver. The numbers 555-0100 to 555-0199 are reserved for fiction. */
async function newDriver(sql: Sql, name: string, index: number, origin: string): Promise<string> {
  const token = newSecret('driver_token');
  const phone = `+1415555${String(100 + (index % 100)).padStart(4, '0')}`;
  await createDriver(sql, { id: newId(), name, phone, tokenHash: hashSecret(token), tierIds: TIER_IDS }, origin);
  return token;
}
