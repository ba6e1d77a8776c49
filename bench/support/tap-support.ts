import { chmodSync, rmSync } from 'node:fs';
import sharp from 'sharp';
import { WebSocket } from 'ws';
import { hashSecret, newId, newSecret } from '../../src/domain/ids.ts';
import { TIER_IDS } from '../../src/domain/tier.ts';
import type { Point } from '../../src/geo/point.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { readLiveService } from '../../src/sandbox/service-file.ts';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { newDataDir, orderBody, type Running, startBuiltService } from '../../test/harness/service.ts';
import { storeOf } from '../../test/harness/store.ts';
import { OVERSEAS_DROPOFF } from '../../test/harness/towns.ts';

const REQUEST_MS = 20_000;
const METERS_PER_DEGREE = 111_195;

/** Milliseconds since the epoch by this process's clock, with the fraction that `Date.now()` lacks. */
export const nowMs = (): number => performance.timeOrigin + performance.now();

export type World = { readonly service: Running; readonly sql: Sql; close(): Promise<void> };

/** The built service in its sandbox, on a durable embedded Postgres. */
export async function openWorld(): Promise<World> {
  const folder = newDataDir();
  // Root's Postgres runs as another user, which must be able to enter; otherwise the cluster would go
  // elsewhere.
  chmodSync(folder.dataDir, 0o755);
  const service = await startBuiltService({ DATA_DIR: folder.dataDir, LOG_LEVEL: 'warn', RELEASES_PER_HOUR: '0' });
  const live = readLiveService(folder.dataDir);
  if (!live) throw new Error('the service told nobody where its database is');
  const sql = connect({ url: live.databaseUrl, applicationName: 'bench', max: 2 });
  return {
    service,
    sql,
    async close() {
      await sql.end({ timeout: 5 });
      await service.stop();
      rmSync(folder.dataDir, { recursive: true, force: true });
    },
  };
}

export type Delivery = {
  readonly orderId: string;
  readonly trackingToken: string;
  readonly at: Point;
  /** Sends the driver's request; resolves with the status. */
  tap(step: Step): Promise<number>;
  move(point: Point): Promise<number>;
};
export type Step = 'pick-up' | 'deliver' | 'release' | 'undeliverable' | 'return';
const REASONS: Partial<Record<Step, string>> = { release: 'vehicle', undeliverable: 'nobody_home' };

let places = 0;

/** Makes an order with its own store and its own driver, far from all others. */
export async function newDelivery({ service, sql }: World, photo: Buffer): Promise<Delivery> {
  const index = places++;
  const at = { lat: -55 + (index % 110), lng: -175 + Math.floor(index / 110) * 1.5 };
  const store = { id: newId(), apiKey: newSecret('api_key') };
  const card = TEST_CARDS.ok;
  await storeOf(sql).createRetailer(
    {
      id: store.id,
      name: `Store ${index}`,
      address: 'One Bench Square',
      point: at,
      stripeCustomerId: card.customer,
      stripePaymentMethodId: card.paymentMethod,
    },
    { id: newId(), keyHash: hashSecret(store.apiKey) },
  );
  const token = newSecret('driver_token');
  const driver = { id: newId(), name: `Driver${index} Bench`, phone: '+14155550177', tierIds: TIER_IDS };
  await storeOf(sql, 'bench').createDriver({ ...driver, tokenHash: hashSecret(token) });
  const move = (point: Point) => send(service, '/driver/location', token, { ...point });
  await until(async () => (await move(north(at, 300))) === 200, 'the new driver is known');
  const onDuty = await send(service, '/driver/duty', token, { on_duty: true }, 'PUT');
  if (onDuty !== 200) throw new Error(`a driver could not go on duty: ${onDuty}`);
  const body = orderBody(store.id, { pickup_address: 'One Bench Square', dropoff_address: OVERSEAS_DROPOFF });
  const response = await request(service, '/orders/create', store.apiKey, JSON.stringify(body), 'application/json');
  const { order } = (await response.json()) as { order: { id: string; status: string; tracking_token: string } };
  if (order.status !== 'driver_assigned') throw new Error(`an order was not given to its driver: ${order.status}`);
  return {
    orderId: order.id,
    trackingToken: order.tracking_token,
    at,
    move,
    async tap(step) {
      const path = `/driver/orders/${order.id}/${step}`;
      if (step !== 'deliver') {
        const reason = REASONS[step];
        return send(service, path, token, reason ? { reason } : {});
      }
      const answer = await request(service, path, token, photo, 'image/jpeg');
      await answer.arrayBuffer();
      return answer.status;
    },
  };
}

async function send(service: Running, path: string, key: string, body: object, method = 'POST'): Promise<number> {
  const answer = await request(service, path, key, JSON.stringify(body), 'application/json', method);
  await answer.arrayBuffer();
  return answer.status;
}

function request(
  service: Running,
  path: string,
  key: string,
  body: string | Buffer,
  type: string,
  method = 'POST',
): Promise<Response> {
  return fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
    body: body as string | Uint8Array<ArrayBuffer>,
    signal: AbortSignal.timeout(REQUEST_MS),
  });
}

/** A photo as the driver's page sends it: about 300 KB with detail everywhere. */
export async function phonePhoto(): Promise<Buffer> {
  const [width, height] = [1_600, 1_200];
  const pixels = Buffer.alloc(width * height * 3);
  // A linear congruential generator (Numerical Recipes), so that every run sends the same bytes.
  let seed = 1;
  for (let at = 0; at < pixels.length; at += 1) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    pixels[at] = 96 + (seed >>> 27) + ((at >> 9) & 63);
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 70 })
    .toBuffer();
}

/**
 * An open tracking socket that checks what every page relies on: sequences only grow, and the socket stays
 * open.
 */
export class Viewer {
  readonly #socket: WebSocket;
  readonly #told = new Map<number, number>();
  sequence = 0;
  status = '';
  messages = 0;
  closedByUs = false;

  private constructor(socket: WebSocket, failed: (what: string) => void) {
    this.#socket = socket;
    socket.on('message', (data) => this.#received(JSON.parse(String(data)), failed));
    socket.on('error', () => failed('a tracking socket failed'));
    socket.on('close', (code) => this.closedByUs || failed(`a tracking socket was closed with ${code}`));
  }

  /** Resolves when the snapshot is there. */
  static async open({ service }: World, token: string, failed: (what: string) => void): Promise<Viewer> {
    const url = `${service.url.replace(/^http/, 'ws')}/track/${token}/live`;
    const viewer = new Viewer(new WebSocket(url, { handshakeTimeout: REQUEST_MS, perMessageDeflate: false }), failed);
    await until(() => viewer.sequence > 0, 'a snapshot');
    return viewer;
  }

  #received(message: { type: string; order?: { sequence: number; status: string } }, failed: (what: string) => void) {
    this.messages += 1;
    if (message.type !== 'order' || !message.order) return;
    const { sequence, status } = message.order;
    if (sequence < this.sequence) failed('a tracking socket was sent an older state');
    if (status !== this.status) this.#told.set(sequence, nowMs());
    this.sequence = sequence;
    this.status = status;
  }

  /** When this status first arrived; null before that. */
  heardMs(status: string): number | null {
    return this.status === status ? ([...this.#told.values()].at(-1) ?? null) : null;
  }

  close(): void {
    this.closedByUs = true;
    this.#socket.terminate();
  }
}

export const north = ({ lat, lng }: Point, meters: number): Point => ({ lat: lat + meters / METERS_PER_DEGREE, lng });

/** Polls every few milliseconds, for at most 10 s. */
export async function until(is: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!(await is())) {
    if (performance.now() > endMs) throw new Error(`waited in vain for this: ${what}`);
    await new Promise((later) => setTimeout(later, 5));
  }
}

/** The smallest value that at least this share of the values does not exceed (nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
