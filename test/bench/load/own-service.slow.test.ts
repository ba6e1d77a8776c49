import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { Run } from '../../../bench/load/figures.ts';
import type { OwnService } from '../../../bench/load/options.ts';
import { loadOwn, NotUsable } from '../../../bench/load/own-service.ts';
import { SMALL } from '../../../bench/load/sizes.ts';

const SIZES = { ...SMALL, orders: 6, warmUpSeconds: 0.1 };
const RETAILER = '01920000-0000-7000-8000-000000000001';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

type Body = {
  retailer_id: string;
  customer?: { sms_opt_in: boolean };
  pickup_address?: string;
  dropoff_address?: { state: string; zip: string };
};

/** A service of one store with one earlier order; `headers` go with each reply. */
async function serve(headers: Record<string, string>) {
  const bodies: Body[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    const reply = (status: number, body: object): void => {
      const said = JSON.stringify(body);
      response.writeHead(status, { ...headers, 'content-length': said.length }).end(said);
    };
    request.on('end', () => {
      if (request.url === '/orders?limit=1') return reply(200, { orders: [{ id: 'o1' }] });
      if (request.url === '/orders/o1') return reply(200, { order: { pickup_address: 'One Old Road' } });
      const body = JSON.parse(text) as Body;
      bodies.push(body);
      if (request.headers.authorization !== 'Bearer k') return reply(401, { message: 'The key is wrong.' });
      if (!body.customer) return reply(400, { message: 'The fields are missing.' });
      return reply(201, { success: true, order: { id: `order ${bodies.length}`.padEnd(36) } });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

function own(url: string, changes: Partial<OwnService> = {}): OwnService {
  return { kind: 'own', url, key: 'k', retailerId: RETAILER, pickup: undefined, realOrders: false, ...changes };
}

function loadIt(service: OwnService) {
  const faults: string[] = [];
  const blame = (_: string, found: readonly string[]): void => void faults.push(...found);
  const run: Run = { signal: new AbortController().signal, say: () => undefined, blame };
  return loadOwn(run, SIZES, service).then((loaded) => ({ ...loaded, faults }));
}

describe("a service of one's own", () => {
  test("gets orders of its store, with the store's address, and texts nobody", async () => {
    const { url, bodies } = await serve({ 'X-Sameday-Mode': 'sandbox' });
    const { figures, curves, faults } = await loadIt(own(url));
    expect(faults).toEqual([]);
    expect(figures.rates.map(({ failed }) => failed)).toEqual([0, 0]);
    expect(curves).toHaveLength(2);
    const orders = bodies.filter(({ customer }) => customer);
    expect(orders.length).toBeGreaterThan(SIZES.orders / 2);
    const isGood = ({ retailer_id, customer, pickup_address }: Body) =>
      retailer_id === RETAILER && customer?.sms_opt_in === false && pickup_address === 'One Old Road';
    expect(orders.every(isGood)).toBe(true);
  });

  test('is refused without an order where it is no sandbox, unless real orders are asked for', async () => {
    const { url, bodies } = await serve({});
    await expect(loadIt(own(url))).rejects.toThrow(/does not say that it is a sandbox.*--real-orders/);
    expect(bodies).toEqual([{ retailer_id: RETAILER }]);
    const { figures } = await loadIt(own(url, { realOrders: true, pickup: '1 Here St, Boston, MA 02108' }));
    expect(figures.conditions[0]).toContain('its orders are real');
    expect(bodies.at(-1)?.pickup_address).toBe('1 Here St, Boston, MA 02108');
    expect(bodies.at(-1)?.dropoff_address).toMatchObject({ state: 'MA', zip: '02108' });
  });

  test('says what it answered where the key is not good, what is missing, and that it is not there', async () => {
    const { url } = await serve({});
    await expect(loadIt(own(url, { retailerId: undefined }))).rejects.toThrow(/Add --retailer/);
    await expect(loadIt(own(url, { key: 'other' }))).rejects.toThrow(/with 401.*The key is wrong/);
    await expect(loadIt(own('http://127.0.0.1:9'))).rejects.toThrow(NotUsable);
  });
});
