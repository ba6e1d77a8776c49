import { Agent, request } from 'node:http';
import { distanceMeters, type Point } from '../../src/geo/point.ts';
import { OVERSEAS_DROPOFF } from '../../test/harness/towns.ts';
import type { Drive } from './sockets-drive.ts';
import { CARRIES_EVERY, CHECK_EVERY, type Taken } from './sockets-reports.ts';
import { addStore, driverId, type SocketWorld, trackingToken } from './sockets-world.ts';

const REQUEST_MS = 60_000;
const AT_ONCE = 8;
/** Most steps by which a position that is read may be ahead of the followed report. */
const LATER_STEPS = 50;
const FLUSH_MS = 120_000;
/** Distance from the driver to the pickup of an order that tests who is nearest. */
const BESIDE_DEGREES = 0.002;

type Answer = { readonly status: number; readonly body: string };

/**
 * Sends requests, so many at once, each on a connection of its own: the service may close one that was idle
 * while the next request is on its way.
 */
export function createClient(port: number, sockets: number) {
  const agent = new Agent({ keepAlive: false, maxSockets: sockets });
  const send = (method: string, path: string, key: string | null, body: object | null): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
      const type = body === null ? {} : { 'content-type': 'application/json' };
      const headers = { ...authorization, ...type };
      const sent = request({ agent, host: '127.0.0.1', port, method, path, headers, timeout: REQUEST_MS }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: text }));
      });
      sent.once('timeout', () => sent.destroy(new Error(`no answer to ${path} in time`)));
      sent.once('error', reject);
      sent.end(body === null ? undefined : JSON.stringify(body));
    });
  return { send, close: () => agent.destroy() };
}

export type Checker = {
  /** Checks that the matcher has the driver where the accepted report said. */
  taken(taken: Taken): void;
  /** Resolves with the number of checks since the last call. */
  finish(): Promise<number>;
  close(): void;
};

/** Reads the driver's position through the tracking page of the driver's order. */
export function createChecker(port: number, placeOf: Drive, failed: (what: string) => void): Checker {
  const client = createClient(port, AT_ONCE);
  const queue: (readonly [driver: number, step: number])[] = [];
  let running = 0;
  let checked = 0;

  async function check(driver: number, step: number): Promise<void> {
    const { status, body } = await client.send('GET', `/track/${trackingToken(driver)}/status`, null, null);
    if (status !== 200) return failed(`a tracking page was answered with ${status}`);
    const { order } = JSON.parse(body) as { order: { driver: { position: Point | null } | null } };
    const at = order.driver?.position;
    const isThere = (later: number) => {
      const place = placeOf(driver, step + later);
      return place.lat === at?.lat && place.lng === at?.lng;
    };
    if (!Array.from({ length: LATER_STEPS }, (_, later) => later).some(isThere)) {
      failed(`driver ${driver} reported step ${step} and is not there: ${JSON.stringify(at)}`);
    }
    checked += 1;
  }

  async function work(): Promise<void> {
    running += 1;
    for (let next = queue.shift(); next; next = queue.shift()) {
      await check(...next).catch((error: Error) => failed(`a place could not be read: ${error.message}`));
    }
    running -= 1;
  }

  return {
    taken({ drivers, steps }) {
      for (const [at, driver] of drivers.entries()) queue.push([driver, steps[at] as number]);
      while (running < AT_ONCE && queue.length > running) void work();
    },
    async finish() {
      while (running > 0 || queue.length > 0) await new Promise((later) => setTimeout(later, 5));
      const count = checked;
      checked = 0;
      return count;
    },
    close: () => client.close(),
  };
}

/** Waits until every driver's row has the last reported position; resolves with the time in seconds. */
export async function allWritten({ sql }: SocketWorld, drivers: number, placeOf: Drive, step: number): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const rows = await sql`select driver_id, lat, lng from driver_positions`;
    const byId = new Map(rows.map((row) => [row.driver_id as string, row]));
    let missing = 0;
    for (let index = 0; index < drivers; index++) {
      const place = placeOf(index, step);
      const row = byId.get(driverId(index));
      if (row?.lat !== place.lat || row.lng !== place.lng) missing += 1;
    }
    const tookMs = performance.now() - startedMs;
    if (missing === 0) return tookMs / 1_000;
    if (tookMs > FLUSH_MS) throw new Error(`${missing} drivers' last positions were not written`);
    await new Promise((later) => setTimeout(later, 100));
  }
}

/**
 * Places an order beside some of the free drivers, at even intervals, and compares its driver with the
 * nearest one of all.
 *
 * @returns how many orders
 */
export async function askNearest(
  world: SocketWorld,
  drivers: number,
  placeOf: (index: number) => Point,
  failed: (what: string) => void,
): Promise<number> {
  const free = new Map<string, Point>();
  for (let index = 0; index < drivers; index++) {
    if (index % CARRIES_EVERY !== 0) free.set(driverId(index), placeOf(index));
  }
  const client = createClient(world.port, 1);
  let asked = 0;
  for (let index = CARRIES_EVERY / 2; index < drivers; index += CHECK_EVERY) {
    const { lat, lng } = placeOf(index);
    const point = { lat: lat + BESIDE_DEGREES, lng };
    const expected = [...free].reduce((a, b) => (distanceMeters(b[1], point) < distanceMeters(a[1], point) ? b : a));
    const given = await placeOrder(world, client, point, index);
    if (given !== expected[0]) failed(`an order beside driver ${index} went to ${given} and not to ${expected[0]}`);
    free.delete(given);
    asked += 1;
  }
  client.close();
  return asked;
}

/** Places an order with this pickup; resolves with its driver's id. */
async function placeOrder(
  { sql }: SocketWorld,
  client: ReturnType<typeof createClient>,
  point: Point,
  index: number,
): Promise<string> {
  const apiKey = `sdk_${trackingToken(index)}${'x'.repeat(8)}`;
  const address = `${index} Bench Street`;
  const body = {
    retailer_id: await addStore(sql, point, address, apiKey),
    customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123', sms_opt_in: false },
    pickup_address: address,
    dropoff_address: OVERSEAS_DROPOFF,
  };
  const answer = await client.send('POST', '/orders/create', apiKey, body);
  if (answer.status !== 201) return `nobody: ${answer.status} ${answer.body}`;
  const { order } = JSON.parse(answer.body) as { order: { id: string } };
  const [row] = await sql`select driver_id from orders where id = ${order.id}`;
  return row?.driver_id ?? 'nobody';
}
