import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { hashSecret, newId, newSecret } from '../../src/domain/ids.ts';
import { TIER_IDS, type TierId } from '../../src/domain/tier.ts';
import type { Point } from '../../src/geo/point.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { STEP_MS } from '../harness/patience.ts';
import { orderBody } from '../harness/service.ts';
import { storeOf } from '../harness/store.ts';
import { dropoffNear, townOf } from '../harness/towns.ts';

export type WireOrder = {
  readonly id: string;
  readonly status: string;
  readonly delivery_tier: string;
  readonly delivery_fee: number;
  readonly payment_status: string;
  readonly payment_failure_code: string | null;
  readonly charge_id: string | null;
  readonly sms_status: string;
  readonly sms_failure_code: string | null;
  readonly tracking_token: string;
  readonly created_at: string;
  readonly driver_id: string | null;
  readonly sequence: number;
  readonly waiting_because?: string;
  readonly customer: { readonly name: string; readonly sms_opt_in: boolean };
  readonly dropoff_address: Readonly<Record<string, string | null>>;
  readonly events: readonly { sequence: number; type: string; at: string; data: Record<string, unknown> | null }[];
};

/** What a reply's JSON may hold; a test reads what it asked for. */
export type Body = {
  readonly success: boolean;
  readonly message: string;
  readonly order: WireOrder;
  readonly error: { code: string; retryable: boolean; fields: readonly { field: string; message: string }[] };
  readonly request_id: string;
};

export type Answer<Json = Body> = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
};

type Address = { readonly url: string };
export type Sent = {
  readonly method?: string;
  /** The bearer secret; none is sent without it. */
  readonly key?: string;
  /** An object is sent as JSON, anything else as it is. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
};

/** Sends one request and reads the whole reply; `body` is its JSON, or null where it is none. */
export async function ask<Json = Body>(service: Address, path: string, sent: Sent = {}): Promise<Answer<Json>> {
  const { method = 'GET', key, body } = sent;
  const isJson = body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array);
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(isJson ? { 'content-type': 'application/json' } : {}),
      ...sent.headers,
    },
    ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : (body as string | Uint8Array<ArrayBuffer>) }),
    signal: AbortSignal.timeout(STEP_MS),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) as Json };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export type Store = {
  readonly retailerId: string;
  readonly apiKey: string;
  readonly address: string;
  readonly point: Point;
};

let places = 0;

/** A town of its own for a test, more than 150 km from every other one, so that fleets do not mix. */
export function newPlace(): Point {
  return townOf(places++);
}

/** Adds an active store straight to the tables; a card of null is no card. */
export async function addStore(
  sql: Sql,
  options: { name?: string; point?: Point; card?: { customer: string; paymentMethod: string } | null } = {},
): Promise<Store> {
  const { name = 'Corner Market', point = newPlace(), card = TEST_CARDS.ok } = options;
  const store = { retailerId: newId(), apiKey: newSecret('api_key'), address: 'One Test Square', point };
  await storeOf(sql).createRetailer(
    {
      id: store.retailerId,
      name,
      address: store.address,
      point,
      stripeCustomerId: card?.customer ?? null,
      stripePaymentMethodId: card?.paymentMethod ?? null,
    },
    { id: newId(), keyHash: hashSecret(store.apiKey) },
  );
  return store;
}

/** A body of an order from a store's own address to one of its town, with changes. */
export function orderOf(store: Store, changes: Record<string, unknown> = {}): Record<string, unknown> {
  const dropoff_address = dropoffNear(store.point);
  return orderBody(store.retailerId, { pickup_address: store.address, dropoff_address, ...changes });
}

/** Sends such an order. */
export function place(service: Address, store: Store, changes: Record<string, unknown> = {}): Promise<Answer> {
  const body = orderOf(store, changes);
  return ask(service, '/orders/create', { method: 'POST', key: store.apiKey, body });
}

/** A store's order as `GET /orders/{id}` shows it. */
export async function show(service: Address, store: Store, orderId: string): Promise<WireOrder> {
  const answer = await ask(service, `/orders/${orderId}`, { key: store.apiKey });
  expect(answer.status).toBe(200);
  return answer.body.order;
}

/** Waits until an order looks as told; what it looks like then. */
export async function untilOrder(
  service: Address,
  store: Store,
  orderId: string,
  expected: Partial<WireOrder>,
): Promise<WireOrder> {
  await expect.poll(() => show(service, store, orderId)).toMatchObject(expected);
  return show(service, store, orderId);
}

export type DriverState = {
  readonly on_duty: boolean;
  readonly order: { id: string; status: string; sequence: number; dropoff: Record<string, string>; pickup: object };
  readonly orders: readonly { readonly id: string; readonly status: string; readonly deliver_by: string }[];
  readonly stops: readonly {
    readonly kind: string;
    readonly lat: number | null;
    readonly lng: number | null;
    readonly order_ids: readonly string[];
  }[];
  readonly version: string;
};

export type Driver = {
  readonly id: string;
  readonly token: string;
  duty(onDuty: boolean): Promise<void>;
  /** Reports a position; `ageMs` old. */
  at(point: Point, ageMs?: number): Promise<void>;
  state(): Promise<DriverState>;
  /** Sends a step of an order, as `release`. */
  act(orderId: string, step: string, body?: object): Promise<Answer>;
  pickUp(orderId: string): Promise<Answer>;
  deliver(orderId: string, photo: Uint8Array, type?: string): Promise<Answer>;
};

/** Adds a driver straight to the tables, off duty and nowhere; what he does goes to `service` over HTTP. */
export async function addDriver(
  service: Address,
  sql: Sql,
  options: { name?: string; phone?: string; tiers?: readonly TierId[]; capacity?: number } = {},
): Promise<Driver> {
  const { name = 'Sam Rider', phone = '+14155550177', tiers = TIER_IDS, capacity = 1 } = options;
  const id = newId();
  const token = newSecret('driver_token');
  await storeOf(sql, 'test').createDriver({ id, name, phone, tokenHash: hashSecret(token), tierIds: tiers, capacity });
  return driverOf(service, id, token);
}

export function driverOf(service: Address, id: string, token: string): Driver {
  const act: Driver['act'] = (orderId, step, body = {}) =>
    ask(service, `/driver/orders/${orderId}/${step}`, { method: 'POST', key: token, body });
  return {
    id,
    token,
    async duty(onDuty) {
      const answer = await ask(service, '/driver/duty', { method: 'PUT', key: token, body: { on_duty: onDuty } });
      expect(answer.status, answer.text).toBe(200);
    },
    async at({ lat, lng }, ageMs = 0) {
      const body = { lat, lng, captured_at: new Date(Date.now() - ageMs).toISOString() };
      // 503 until the news of the new driver has reached the process; a phone tries again, too.
      const report = () => ask(service, '/driver/location', { method: 'POST', key: token, body });
      await expect.poll(async () => (await report()).status, { interval: 20 }).toBe(200);
    },
    async state() {
      const answer = await ask<DriverState>(service, '/driver/orders', { key: token });
      expect(answer.status, answer.text).toBe(200);
      return answer.body;
    },
    act,
    pickUp: (orderId) => act(orderId, 'pick-up'),
    deliver: (orderId, photo, type = 'image/jpeg') =>
      ask(service, `/driver/orders/${orderId}/deliver`, {
        method: 'POST',
        key: token,
        body: photo,
        headers: { 'content-type': type },
      }),
  };
}

/** A driver on duty at this point, ready to be given an order. */
export async function addFreeDriver(
  service: Address,
  sql: Sql,
  point: Point,
  options: Parameters<typeof addDriver>[2] = {},
): Promise<Driver> {
  const driver = await addDriver(service, sql, options);
  await driver.at(point);
  await driver.duty(true);
  return driver;
}

/** `meters` north of a point. */
export function northOf({ lat, lng }: Point, meters: number): Point {
  return { lat: lat + meters / 111_195, lng };
}

export type Socket = {
  /** Everything it was sent, parsed, oldest first. */
  readonly messages: readonly Record<string, unknown>[];
  send(message: unknown): void;
  /** The code it was closed with, or null while it is open. */
  closedWith(): number | null;
  close(): void;
};

/** Opens a WebSocket of the service; rejects with the HTTP status where it is refused. */
export function openSocket(service: Address, path: string): Promise<Socket> {
  const socket = new WebSocket(`${service.url.replace(/^http/, 'ws')}${path}`, { handshakeTimeout: STEP_MS });
  const messages: Record<string, unknown>[] = [];
  let code: number | null = null;
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  socket.on('close', (closedWith) => {
    code = closedWith;
  });
  return new Promise((resolve, reject) => {
    socket.on('unexpected-response', (_request, response) => {
      response.resume();
      reject(new Error(`refused with ${response.statusCode}`));
    });
    socket.on('error', reject);
    socket.on('open', () =>
      resolve({
        messages,
        send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
        closedWith: () => code,
        close: () => socket.terminate(),
      }),
    );
  });
}

/** A driver's phone on the live socket, signed in. */
export async function openPhone(service: Address, token: string): Promise<Socket> {
  const socket = await openSocket(service, '/driver/live');
  socket.send({ type: 'hello', token });
  await expect.poll(() => socket.messages.length, { interval: 10 }).toBeGreaterThan(0);
  expect(socket.messages[0]).toMatchObject({ type: 'state' });
  return socket;
}

export type LedgerPayment = {
  readonly type: string;
  readonly key: string;
  readonly amount: number;
  readonly currency: string;
  readonly customer: string;
  readonly paymentMethod: string;
  readonly metadata: Record<string, string>;
  readonly answer: { readonly kind: string };
};

/** What the Stripe stand-in was asked to charge for an order. */
export function chargesOf(dataDir: string, orderId: string): LedgerPayment[] {
  return readLedger<LedgerPayment>(join(dataDir, 'stripe-ledger.jsonl')).filter(
    (entry) => entry.type === 'payment' && entry.metadata.order_id === orderId,
  );
}

/** What the Twilio stand-in was asked to text to a number. */
export function textsTo(dataDir: string, phone: string): { to: string; from: string; body: string }[] {
  return readLedger<{ to: string; from: string; body: string }>(join(dataDir, 'twilio-ledger.jsonl')).filter(
    (entry) => entry.to === phone,
  );
}

function readLedger<Entry>(file: string): Entry[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Entry);
}

/** The names of the stored photos. */
export function storedPhotos(dataDir: string): string[] {
  try {
    return readdirSync(join(dataDir, 'photos'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

let phones = 0;

/** A customer's phone that no other order of this file has. */
export function newPhone(): string {
  return `+1415556${String(1000 + phones++)}`;
}
