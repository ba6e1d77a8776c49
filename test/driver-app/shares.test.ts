import { describe, expect, it } from 'vitest';
import type { ActionOutcome } from '../../src/dispatch/driver-actions.ts';
import { newId } from '../../src/domain/ids.ts';
import type { StoredPhoto } from '../../src/domain/photo.ts';
import { DRIVER_MESSAGE_BURST, DRIVER_REQUEST_BURST } from '../../src/driver-app/allowance.ts';
import { bearerToken } from '../../src/transport/request.ts';
import type { RequestHead } from '../../src/transport/route.ts';
import { gate, rawConnection, startServer } from '../http/support.ts';
import { actionsBy, driverRoutes } from './driver-routes.ts';

const ORDER = newId();
const DONE = { kind: 'done', status: 'delivered', sequence: 4, repeated: true } as const;
const UPLOAD_BYTES = 300_000;

/** A server whose drivers are called by their tokens, on a clock that stands still unless it is moved. */
async function start() {
  let nowMs = 0;
  let foreseen: ActionOutcome | null = null;
  let store: () => Promise<StoredPhoto> = async () => ({ kind: 'stored', name: 'photo', isBlank: false });
  const counted = { positions: 0, actions: 0, photos: 0 };
  const act = async (): Promise<ActionOutcome> => {
    counted.actions += 1;
    return { ...DONE, repeated: false };
  };
  const actions = {
    ...actionsBy(act),
    setDuty: async (_driverId: string, onDuty: boolean) => ({ onDuty }),
    foreseeDelivery: async () => foreseen,
  };
  const drivers = { authenticate: async (head: RequestHead) => ({ driverId: bearerToken(head) ?? '' }) };
  const positions = {
    last: () => null,
    report: () => {
      counted.positions += 1;
      return 'taken' as const;
    },
  };
  const photos = {
    store: () => {
      counted.photos += 1;
      return store();
    },
    discard: async () => undefined,
    failureCause: () => null,
  };
  const routes = driverRoutes({ drivers, actions, positions, photos }, () => nowMs);
  const running = await startServer({ routes });
  return {
    ...running,
    counted,
    pass: (ms: number) => {
      nowMs += ms;
    },
    foresee: (outcome: ActionOutcome | null) => {
      foreseen = outcome;
    },
    storeWith: (storing: () => Promise<StoredPhoto>) => {
      store = storing;
    },
    /** The status, and the seconds after which to try again. */
    async ask(driver: string, method: string, path: string, type = 'application/json', body = '{}') {
      const headers = { authorization: `Bearer ${driver}`, 'content-type': type };
      const response = await fetch(running.url + path, { method, headers, ...(method === 'GET' ? {} : { body }) });
      const { error } = (await response.json()) as { error?: { retryable: boolean } };
      return [response.status, response.headers.get('retry-after'), error?.retryable];
    },
  };
}

const deliver = `/driver/orders/${ORDER}/deliver?action_id=a`;
const TOO_MANY = [429, '1', true];

describe('a driver', () => {
  it('reports positions over HTTP at the rate of the socket, and keeps nobody else from it', async () => {
    const { ask, counted, pass } = await start();
    const report = (driver: string) => ask(driver, 'POST', '/driver/location', 'application/json', '{"lat":1,"lng":2}');
    const answers = await Promise.all(Array.from({ length: 100 }, () => report('one')));
    expect(answers.filter(([status]) => status === 200)).toHaveLength(DRIVER_MESSAGE_BURST);
    expect(answers.find(([status]) => status !== 200)).toEqual(TOO_MANY);
    expect(counted.positions).toBe(DRIVER_MESSAGE_BURST);
    expect((await report('other'))[0]).toBe(200);
    pass(200);
    expect([(await report('one'))[0], (await report('one'))[0]]).toEqual([200, 429]);
    expect((await ask('one', 'POST', `/driver/orders/${ORDER}/pick-up`))[0]).toBe(200);
  });

  it.each([
    ['PUT', '/driver/duty', '{"on_duty":true}'],
    ['GET', '/driver/orders', ''],
    ['POST', `/driver/orders/${ORDER}/pick-up`, '{}'],
    ['POST', `/driver/orders/${ORDER}/release`, '{"reason":"vehicle"}'],
    ['POST', `/driver/orders/${ORDER}/undeliverable`, '{"reason":"refused"}'],
    ['POST', `/driver/orders/${ORDER}/return`, '{}'],
  ])('sends %s %s no more often than they are allowed', async (method, path, body) => {
    const { ask } = await start();
    const send = (driver: string) => ask(driver, method, path, 'application/json', body);
    const answers = await Promise.all(Array.from({ length: 2 * DRIVER_REQUEST_BURST }, () => send('one')));
    expect(answers.filter(([status]) => status === 200)).toHaveLength(DRIVER_REQUEST_BURST);
    expect(answers.find(([status]) => status !== 200)).toEqual(TOO_MANY);
    expect((await send('other'))[0]).toBe(200);
  });

  it('may not hold the room of bodies by sending many slowly', async () => {
    const { port, server } = await start();
    const slow = Array.from({ length: 2 * DRIVER_REQUEST_BURST }, () => rawConnection(port));
    const head = `PUT /driver/duty HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer one\r\nContent-Type: application/json\r\n`;
    for (const connection of slow) connection.send(`${head}Content-Length: 60000\r\n\r\n{`);
    const heard = () => slow.flatMap(({ statuses }) => statuses);
    await expect.poll(heard).toEqual(Array(DRIVER_REQUEST_BURST).fill(429));
    expect(server.inFlight).toBe(DRIVER_REQUEST_BURST);
  });
});

describe('the photo of a delivery', () => {
  /** An upload that announces itself and sends only its first part. */
  function begin(port: number, driver: string, bytes = UPLOAD_BYTES) {
    const connection = rawConnection(port);
    const head = `POST ${deliver} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${driver}\r\nContent-Type: image/jpeg\r\n`;
    connection.send(`${head}Content-Length: ${bytes}\r\n\r\n`);
    connection.send(Buffer.alloc(bytes / 2));
    return Object.assign(connection, { finish: () => connection.send(Buffer.alloc(bytes / 2)) });
  }
  const photo = (driver: string, world: Awaited<ReturnType<typeof start>>) =>
    world.ask(driver, 'POST', deliver, 'image/jpeg', 'photo');

  it('comes one at a time from a driver, and others’ meanwhile', async () => {
    const world = await start();
    const first = begin(world.port, 'one');
    await expect.poll(() => world.server.inFlight).toBe(1);
    await expect.poll(() => photo('one', world)).toEqual(TOO_MANY);
    expect((await photo('other', world))[0]).toBe(200);
    first.finish();
    await expect.poll(() => first.statuses).toEqual([200]);
    expect((await photo('one', world))[0]).toBe(200);
  });

  it('that is being stored is over only when it is stored, though its client left', async () => {
    const world = await start();
    const stored = gate<StoredPhoto>();
    world.storeWith(() => stored.opened);
    const first = begin(world.port, 'one');
    first.finish();
    await expect.poll(() => world.counted.photos).toBe(1);
    first.destroy();
    expect(await photo('one', world)).toEqual(TOO_MANY);
    stored.open({ kind: 'stored', name: 'photo', isBlank: false });
    await expect.poll(async () => (await photo('one', world))[0]).toBe(200);
  });

  it('that never comes frees its driver when its client leaves', async () => {
    const world = await start();
    const first = begin(world.port, 'one');
    await expect.poll(() => world.server.inFlight).toBe(1);
    await expect.poll(() => photo('one', world)).toEqual(TOO_MANY);
    first.destroy();
    await expect.poll(async () => (await photo('one', world))[0]).toBe(200);
  });

  it.each<[string, number, ActionOutcome]>([
    ['another order’s', 404, { kind: 'not_found' }],
    ['an order’s that does not wait for it', 409, { kind: 'illegal', status: 'delivered' }],
    ['a delivery’s that was done before', 200, DONE],
  ])('is answered before it has come where it is %s', async (_what, status, outcome) => {
    const world = await start();
    world.foresee(outcome);
    const connection = begin(world.port, 'one', 8_000_000);
    await expect.poll(() => connection.statuses).toEqual([status]);
    expect(world.counted.photos).toBe(0);
    // The rest is dropped and the connection goes on, or its client could not hear the answer.
    connection.finish();
    connection.send('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => connection.statuses).toEqual([status, 404]);
  });

  it('that cannot be used makes its driver wait longer each time, and a repeated action is answered still', async () => {
    const world = await start();
    world.storeWith(async () => ({ kind: 'unusable', reason: 'damaged' }));
    for (const seconds of [1, 2, 4]) {
      expect((await photo('one', world))[0]).toBe(422);
      expect(await photo('one', world)).toEqual([429, String(seconds), true]);
      world.pass(seconds * 1_000);
    }
    expect(world.counted.photos).toBe(3);
    expect((await photo('other', world))[0]).toBe(422);
    world.storeWith(async () => ({ kind: 'stored', name: 'photo', isBlank: false }));
    expect((await photo('one', world))[0]).toBe(200);
    world.storeWith(async () => ({ kind: 'unusable', reason: 'damaged' }));
    expect((await photo('one', world))[0]).toBe(422);
    world.foresee(DONE);
    expect((await photo('one', world))[0]).toBe(200);
  });
});
