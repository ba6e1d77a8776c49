import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findZip } from '../../src/domain/address.ts';
import { TIER_IDS } from '../../src/domain/tier.ts';
import { DEMO_STORE } from '../../src/sandbox/demo.ts';
import type { OrderRequest } from '../../test/harness/order-world.ts';
import { orderBody } from '../../test/harness/service.ts';
import { type Dropoff, dropoffIn } from '../../test/harness/towns.ts';
import {
  bestOf,
  type Curve,
  type Figures,
  type LatencyFigure,
  measureLatency,
  measureRate,
  type RateFigure,
  type Run,
  SHARES,
  warmUpFaults,
} from './figures.ts';
import type { OwnService } from './options.ts';
import type { Sizes } from './sizes.ts';

const REQUEST_MS = 60_000;
/** Sent where nothing is known of the store's address; the service then takes the registered point. */
const UNKNOWN_PICKUP = 'The store';

/** Something in the way that a person can mend; the message says what. */
export class NotUsable extends Error {}

/** Measures a service that runs already: rates and latencies as its caller has them. */
export async function loadOwn(
  run: Run,
  sizes: Sizes,
  own: OwnService,
): Promise<{ readonly figures: Omit<Figures, 'faults'>; readonly curves: readonly Curve[] }> {
  run.say(`asking ${own.url}`);
  const store = await storeOf(own);
  const { isSandbox } = await testKey(own, store.retailerId);
  if (!isSandbox && !own.realOrders) {
    throw new NotUsable(
      `${own.url} does not say that it is a sandbox: its orders are real, and the store's card is charged for each. Add --real-orders to load it all the same.`,
    );
  }
  const target = { urls: [own.url], orders: ordersFor(own.key, store, sizes.orders) };
  const warm = await measureRate(run, target, sizes.peerConnections, sizes.warmUpSeconds);
  run.blame('warm-up', warmUpFaults(warm.result));
  const rates: RateFigure[] = [];
  for (const connections of sizes.connections) {
    const { figure, result } = await measureRate(run, target, connections, sizes.rateSeconds);
    rates.push(figure);
    run.blame(`${connections} connections`, [...result.faults, ...repeatedIds(result.orderIds)]);
  }
  const best = bestOf(rates).perSecond;
  if (best === 0) throw new Error('no order was answered with 201');
  const latencies: LatencyFigure[] = [];
  const curves: Curve[] = [];
  for (const share of SHARES) {
    const { figure, result } = await measureLatency(run, target, best, share, sizes.latencySeconds);
    latencies.push(figure);
    curves.push({ name: `${figure.duePerSecond.toFixed(0)} orders/s`, millis: result.millis });
    run.blame(`${figure.duePerSecond.toFixed(0)} orders/s`, [...result.faults, ...repeatedIds(result.orderIds)]);
  }
  return { figures: { conditions: conditionsOf(own, isSandbox), rates, latencies, costs: [], peers: [] }, curves };
}

/** `dropoff`: an address of the pickup's town; undefined where the pickup names no ZIP code. */
type StoreFacts = { readonly retailerId: string; readonly pickup: string; readonly dropoff: Dropoff | undefined };

/**
 * The store's id and address: as given, else those of the sandbox in this folder, else of an earlier order.
 */
async function storeOf({ url, key, retailerId, pickup }: OwnService): Promise<StoreFacts> {
  const sandbox = sandboxHere();
  const isDemo = sandbox?.apiKey === key;
  const id = retailerId ?? (isDemo ? sandbox?.retailerId : undefined);
  if (id === undefined) {
    throw new NotUsable('Add --retailer: every order names the retailer_id that was issued together with the key.');
  }
  const address = pickup ?? (isDemo ? DEMO_STORE.address : await earlierPickup(url, key));
  return { retailerId: id, pickup: address ?? UNKNOWN_PICKUP, dropoff: dropoffIn(findZip(address ?? '')) };
}

function sandboxHere(): { readonly apiKey?: string; readonly retailerId?: string } | undefined {
  try {
    return JSON.parse(readFileSync(join(process.env.DATA_DIR ?? '.data', 'sandbox.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

/** The pickup address of one of the store's orders; undefined where it has none. */
async function earlierPickup(url: string, key: string): Promise<string | undefined> {
  type List = { readonly orders?: readonly { readonly id: string }[] };
  type One = { readonly order?: { readonly pickup_address?: string } };
  const headers = { authorization: `Bearer ${key}` };
  const [first] = ((await ask(`${url}/orders?limit=1`, { headers })).body as List).orders ?? [];
  if (!first) return undefined;
  return ((await ask(`${url}/orders/${first.id}`, { headers })).body as One).order?.pickup_address;
}

/** Tests the key as the contract describes, with a body that creates nothing. */
async function testKey({ url, key }: OwnService, retailerId: string): Promise<{ readonly isSandbox: boolean }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ retailer_id: retailerId });
  const { status, body: said, isSandbox } = await ask(`${url}/orders/create`, { method: 'POST', headers, body });
  if (status === 400) return { isSandbox };
  const { message = '' } = said as { message?: string };
  throw new NotUsable(`${url} answers the test of the key with ${status}, where 400 says that it is good. ${message}`);
}

async function ask(url: string, init: RequestInit) {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS) });
    const text = await response.text();
    const isSandbox = response.headers.get('x-sameday-mode') === 'sandbox';
    return { status: response.status, isSandbox, body: parsed(text) };
  } catch (error) {
    const { message, cause } = error as Error;
    throw new NotUsable(`${url} cannot be reached: ${cause instanceof Error ? cause.message : message}`);
  }
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Orders of every tier. No customer is texted. */
function ordersFor(key: string, { retailerId, pickup, dropoff }: StoreFacts, count: number): OrderRequest[] {
  const customer = { email: 'jordan@example.com', phone: '+14155550123', sms_opt_in: false };
  return Array.from({ length: count }, (_, i) => {
    const changes = {
      customer: { ...customer, name: `Customer ${i + 1}` },
      pickup_address: pickup,
      ...(dropoff ? { dropoff_address: dropoff } : {}),
      delivery_tier: TIER_IDS[i % TIER_IDS.length],
    };
    return {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(orderBody(retailerId, changes)),
    };
  });
}

function repeatedIds(orderIds: readonly string[]): string[] {
  return new Set(orderIds).size < orderIds.length ? ['two orders were answered with the same id'] : [];
}

function conditionsOf({ url }: OwnService, isSandbox: boolean): string[] {
  return [
    `${url}, ${isSandbox ? 'a sandbox' : 'no sandbox: its orders are real'}. One store, no customer is texted.`,
    'Every request has an idempotency key of its own, and every reply is checked.',
    'Whether an order got a driver, and what it cost in processor time, is not seen from here.',
  ];
}
