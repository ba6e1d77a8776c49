import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { IDLE_WAIT_METERS } from '../../src/domain/idle-wait.ts';
import { hashSecret } from '../../src/domain/ids.ts';
import { createDriverAllowances, DRIVER_MESSAGE_BURST, type DriverAllowances } from '../../src/driver-app/allowance.ts';
import { createDriverLive, DRIVER_HELLO_MS, type DriverLive } from '../../src/driver-app/live.ts';
import { MAX_UNSIGNED_SOCKETS_PER_ADDRESS } from '../../src/driver-app/lobby.ts';
import type { DriverSession } from '../../src/driver-app/session.ts';
import { MAX_DRIVER_STRIKES } from '../../src/driver-app/session.ts';
import type { Point } from '../../src/geo/point.ts';
import { MAX_DRIVER_SOCKETS, MAX_UNSIGNED_DRIVER_SOCKETS } from '../../src/limits.ts';
import type { DriverOrder, DriverState } from '../../src/store/drivers/drivers.ts';
import { displaced } from '../geo/places.ts';
import { driverState, DRIVER_TOKEN as TOKEN } from '../harness/driver-state.ts';
import { gate } from '../http/support.ts';
import { carrying } from '../matcher/carrying.ts';
import { DRIVER_ID, NOW_MS } from '../tracking/orders.ts';
import { CUT, fakeClock, MemorySocket, pass, settle } from '../tracking/sockets.ts';

const OTHER_TOKEN = `sdd_${'b'.repeat(32)}`;

let state: DriverState | null;
let failures: unknown[];
let lastPosition: Point | null;
let live: DriverLive;
let allowances: DriverAllowances;
const find = vi.fn<(tokenHash: string) => Promise<{ driverId: string } | null>>();
const findState = vi.fn<(driverId: string) => Promise<DriverState | null>>();
const setDuty = vi.fn<(driverId: string, onDuty: boolean) => Promise<{ onDuty: boolean } | null>>();
const report = vi.fn<(driverId: string, report: Point) => 'taken' | 'older' | 'unknown_driver' | 'off_range'>();

beforeEach(() => {
  fakeClock(NOW_MS);
  state = driverState(false);
  failures = [];
  lastPosition = null;
  find.mockReset().mockImplementation(async (hash) => (hash === hashSecret(TOKEN) ? { driverId: DRIVER_ID } : null));
  findState.mockReset().mockImplementation(async () => state);
  setDuty.mockReset().mockImplementation(async (_driverId, onDuty) => {
    state = driverState(onDuty);
    return { onDuty };
  });
  report.mockReset().mockImplementation((driverId, { lat, lng }) => {
    live.driverMoved({ driverId, lat, lng, atMs: NOW_MS });
    return 'taken';
  });
  allowances = createDriverAllowances(Date.now);
  live = createDriverLive({
    allowances,
    drivers: { find },
    actions: { setDuty },
    positions: { report, last: () => lastPosition },
    store: {
      async findDriverStates(ids) {
        const found = await Promise.all(ids.map(findState));
        return new Map(found.flatMap((each, index) => (each ? [[ids[index] as string, each]] : [])));
      },
    },
    now: Date.now,
    clock: { now: Date.now },
    failed: (error) => failures.push(error),
  });
});
afterEach(() => {
  live.close();
  vi.useRealTimers();
});

async function connect(remoteAddress = '203.0.113.7'): Promise<MemorySocket<DriverSession>> {
  const data = await live.behaviour.accept({ params: [], remoteAddress });
  if ('refuse' in data) throw new Error('refused');
  return new MemorySocket(live.behaviour, data);
}
async function signedIn(remoteAddress?: string): Promise<MemorySocket<DriverSession>> {
  const socket = await connect(remoteAddress);
  socket.say({ type: 'hello', token: TOKEN });
  await settle();
  return socket;
}

describe('signing in', () => {
  it('sends the state after the hello', async () => {
    const socket = await signedIn();
    expect(socket.received).toEqual([
      {
        type: 'state',
        driver_id: expect.any(String),
        driver_name: 'Sam Rider',
        on_duty: false,
        on_duty_until: null,
        capacity: 1,
        order: null,
        orders: [],
        stops: [],
        version: expect.any(String),
        wait_at: null,
      },
    ]);
    await pass(2 * DRIVER_HELLO_MS);
    expect(socket.closed).toBeNull();
  });

  it('closes a socket that does not say who it is in time', async () => {
    const socket = await connect();
    await pass(DRIVER_HELLO_MS);
    expect([socket.closed?.code, socket.dismissed]).toEqual([4401, true]);
  });

  it('closes a socket with a wrong token, without asking where it has no token’s form', async () => {
    const wrong = await connect();
    wrong.say({ type: 'hello', token: OTHER_TOKEN });
    const formless = await connect();
    formless.say({ type: 'hello', token: 'x' });
    await settle();
    expect([wrong.closed?.code, formless.closed?.code]).toEqual([4401, 4401]);
    expect([wrong.dismissed, formless.dismissed]).toEqual([true, true]);
    expect(find).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['', new Error('down'), 1],
    [' among too many unknown ones', new ServiceError('unavailable', 'Not now.'), 0],
  ])('tells a phone to come back whose token cannot be looked up%s', async (_when, error, failed) => {
    find.mockRejectedValueOnce(error);
    const socket = await signedIn();
    expect(socket.closed?.code).toBe(1013);
    expect(find).toHaveBeenCalledWith(hashSecret(TOKEN));
    expect(failures).toHaveLength(failed);
  });

  it('takes nothing before the hello is answered', async () => {
    const slow = gate<{ driverId: string } | null>();
    find.mockReturnValueOnce(slow.opened);
    const socket = await connect();
    socket.say({ type: 'position', lat: 1, lng: 2 });
    socket.say({ type: 'hello', token: TOKEN });
    socket.say({ type: 'duty', on_duty: true });
    expect(socket.ofType('error').map((message) => message.code)).toEqual(['hello_first', 'hello_first']);
    expect(report).not.toHaveBeenCalled();
    expect(setDuty).not.toHaveBeenCalled();
    slow.open({ driverId: DRIVER_ID });
    await settle();
    expect(socket.ofType('state')).toHaveLength(1);
  });

  it('closes a socket that says nothing of use before a hello', async () => {
    const socket = await connect();
    for (let sent = 0; sent <= MAX_DRIVER_STRIKES; sent += 1) socket.say(sent % 2 === 0 ? '{' : { type: 'ping' });
    expect([socket.closed?.code, socket.dismissed]).toEqual([1008, true]);
  });

  it('forgets a socket that closed while its token was looked up', async () => {
    const slow = gate<{ driverId: string } | null>();
    find.mockReturnValueOnce(slow.opened);
    const socket = await connect();
    socket.say({ type: 'hello', token: TOKEN });
    socket.close(1001, '');
    slow.open({ driverId: DRIVER_ID });
    await settle();
    expect(live.connected()).toBe(0);
  });

  it('replaces the first connection of a driver by the second', async () => {
    const first = await signedIn();
    const second = await signedIn();
    expect([first.closed?.code, first.dismissed]).toEqual([4409, false]);
    expect(live.connected()).toBe(1);
    state = driverState(true);
    live.driverChanged(DRIVER_ID);
    await settle();
    expect(second.received.at(-1)).toMatchObject({ type: 'state', on_duty: true });
  });
});

describe('a driver with two pages', () => {
  /** The next connection of a page that the driver came to so long after the start, by the page's clock. */
  async function hello(cameMs: number, connection: number): Promise<MemorySocket<DriverSession>> {
    const socket = await connect();
    socket.say({ type: 'hello', token: TOKEN, since_ms: NOW_MS + cameMs, connection });
    await settle();
    return socket;
  }
  const codes = (...sockets: MemorySocket<DriverSession>[]) => sockets.map(({ closed }) => closed?.code ?? null);

  it('keeps the one they came to last, whichever of them reconnects', async () => {
    const idle = await hello(0, 1);
    await pass(60_000);
    const used = await hello(60_000, 2);
    expect(codes(idle, used)).toEqual([4409, null]);
    const back = await hello(0, 2);
    expect([back.dismissed, ...codes(back, used)]).toEqual([true, 4409, null]);
    const again = await hello(60_000, 3);
    expect(codes(used, again)).toEqual([4409, null]);
    // Gave this one up before, and its hello comes late.
    expect(codes(await hello(60_000, 2), again)).toEqual([4409, null]);
    expect(live.connected()).toBe(1);
  });

  it.each([24, -24])('lets them in where they just came, though a clock is %s hours ahead', async (hours) => {
    const [aheadMs, minuteMs] = [hours * 3_600_000, 60_000];
    const wrong = await hello(aheadMs, 1);
    await pass(minuteMs);
    const right = await hello(minuteMs, 1);
    expect(codes(wrong, right)).toEqual([4409, null]);
    await pass(minuteMs);
    const wrongAgain = await hello(2 * minuteMs + aheadMs, 1);
    expect(codes(right, wrongAgain)).toEqual([4409, null]);
  });

  it('gives way to an app that does not say when they came, and then to any page', async () => {
    const [page, app] = [await hello(0, 1), await signedIn()];
    const back = await hello(0, 2);
    expect(codes(page, app, back)).toEqual([4409, 4409, null]);
  });

  it.each([
    { since_ms: '2026-03-02T15:00:00Z', connection: 1 },
    { since_ms: NOW_MS },
    { since_ms: 0.5, connection: 1 },
  ])('is not signed in by a hello that cannot be read: %j', async (entry) => {
    const socket = await connect();
    socket.say({ type: 'hello', token: TOKEN, ...entry });
    await settle();
    expect([socket.ofType('error').length, live.connected()]).toEqual([1, 0]);
  });
});

describe('a signed-in driver', () => {
  it('is told of every change, the newest last', async () => {
    const socket = await signedIn();
    const slow = gate<DriverState>();
    findState.mockReturnValueOnce(slow.opened);
    live.driverChanged(DRIVER_ID);
    await settle();
    state = driverState(true);
    live.driverChanged(DRIVER_ID);
    live.driverChanged(DRIVER_ID);
    slow.open(driverState(false));
    await settle();
    expect(socket.ofType('state').map((message) => message.on_duty)).toEqual([false, false, true]);
    expect(findState).toHaveBeenCalledTimes(3);
  });

  it.each([
    ['after notices were missed', () => live.everythingChanged()],
    ['by its notice', () => live.driverChanged(DRIVER_ID)],
  ])('is disconnected when the driver has another token, and hears nothing more: %s', async (_when, change) => {
    const socket = await signedIn();
    change();
    live.driverChanged('another driver');
    await settle();
    expect(socket.closed).toBeNull();
    const heard = socket.received.length;
    state = { ...driverState(true), tokenHash: hashSecret(OTHER_TOKEN) };
    // A read that fails is made again.
    findState.mockRejectedValueOnce(new Error('away'));
    change();
    await settle();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([socket.closed?.code, socket.received.length]).toEqual([4401, heard]);
  });

  it('stays with a new token, though a read of the former phone ends after the sign-in', async () => {
    const former = await signedIn();
    const slow = gate<DriverState>();
    findState.mockReturnValueOnce(slow.opened);
    live.driverChanged(DRIVER_ID);
    await settle();
    find.mockImplementation(async () => ({ driverId: DRIVER_ID }));
    state = { ...driverState(true), tokenHash: hashSecret(OTHER_TOKEN) };
    const next = await connect();
    next.say({ type: 'hello', token: OTHER_TOKEN });
    await settle();
    slow.open(driverState(false));
    await settle();
    // No phone that is signed out stands aside in silence: it says hello again, and hears that.
    expect([former.closed?.code, next.closed]).toEqual([1013, null]);
    expect(next.ofType('state').map((message) => message.on_duty)).toEqual([true]);
  });

  it('is disconnected when no longer active', async () => {
    const socket = await signedIn();
    state = null;
    live.driverChanged(DRIVER_ID);
    await settle();
    expect(socket.closed?.code).toBe(4401);
    expect(live.connected()).toBe(0);
  });

  it('reports positions', async () => {
    const socket = await signedIn();
    socket.say({ type: 'position', lat: 40.7, lng: -74, captured_at: '2026-03-02T15:00:00Z' });
    const capturedAtMs = Date.parse('2026-03-02T15:00:00Z');
    expect(report).toHaveBeenCalledWith(DRIVER_ID, { lat: 40.7, lng: -74, capturedAtMs });
    report.mockReturnValueOnce('off_range');
    socket.say({ type: 'position', lat: 40.7, lng: -74 });
    socket.say({ type: 'position', lat: 95, lng: -74 });
    expect(socket.ofType('error')).toMatchObject([{ code: 'malformed' }, { code: 'malformed' }]);
    expect(report).toHaveBeenCalledTimes(2);
  });

  it('changes duty and sees it in the state; of several changes meanwhile only the last is written', async () => {
    const socket = await signedIn();
    const slow = gate<{ onDuty: boolean }>();
    setDuty.mockReturnValueOnce(slow.opened);
    for (const onDuty of [true, false, true, false, true]) socket.say({ type: 'duty', on_duty: onDuty });
    slow.open({ onDuty: true });
    await settle();
    expect(setDuty.mock.calls.map(([, onDuty]) => onDuty)).toEqual([true, true]);
    expect(socket.received.at(-1)).toMatchObject({ type: 'state', on_duty: true });
  });

  it('is told when the duty could not be changed', async () => {
    const socket = await signedIn();
    setDuty.mockRejectedValueOnce(new Error('down'));
    socket.say({ type: 'duty', on_duty: true });
    await settle();
    expect(socket.received.at(-1)).toMatchObject({ type: 'error', code: 'unavailable' });
  });

  it('is told what is wrong with a malformed message', async () => {
    const socket = await signedIn();
    for (const text of ['', '[]', 'null', '{"type":"fly"}', '{"type":"duty"}', '{"type":"position","lat":"1"}']) {
      socket.say(text);
    }
    expect(socket.ofType('error').map((message) => message.code)).toEqual(Array(6).fill('malformed'));
    expect(socket.closed).toBeNull();
  });

  it('is slowed down and then closed after sending too much', async () => {
    const socket = await signedIn();
    for (let sent = 0; sent < DRIVER_MESSAGE_BURST; sent += 1) socket.say({ type: 'position', lat: 1, lng: 1 });
    expect(report).toHaveBeenCalledTimes(DRIVER_MESSAGE_BURST - 1);
    expect(socket.received.at(-1)).toMatchObject({ code: 'rate_limited' });
    for (let sent = 0; sent < MAX_DRIVER_STRIKES; sent += 1) if (!socket.closed) socket.say({ type: 'ping' });
    expect(socket.closed?.code).toBe(1008);
    expect(live.connected()).toBe(0);
  });

  it('may send one position a second for as long as they like', async () => {
    const socket = await signedIn();
    for (let second = 0; second < 300; second += 1) {
      socket.say({ type: 'position', lat: 1, lng: 1 });
      socket.say({ type: 'ping' });
      await pass(1_000);
    }
    expect(socket.ofType('error')).toEqual([]);
    expect(socket.closed).toBeNull();
  });
});

describe('sockets that have not signed in', () => {
  /** Opens so many, each from the address that its number is given. */
  async function flood(count: number, addressOf: (index: number) => string) {
    const sockets: MemorySocket<DriverSession>[] = [];
    for (let index = 0; index < count; index += 1) sockets.push(await connect(addressOf(index)));
    return sockets;
  }
  const stillOpen = (sockets: readonly MemorySocket<DriverSession>[]) => sockets.filter(({ closed }) => !closed);
  const slowSignIn = async (address?: string) => {
    const lookUp = gate<{ driverId: string } | null>();
    find.mockReturnValueOnce(lookUp.opened);
    const socket = await connect(address);
    socket.say({ type: 'hello', token: TOKEN });
    return { socket, lookUp };
  };

  it('are at most so many from one address, of which the oldest silent one is cut', async () => {
    const { socket: speaking, lookUp } = await slowSignIn('198.51.100.1');
    const sockets = await flood(MAX_UNSIGNED_SOCKETS_PER_ADDRESS + 9, () => '198.51.100.1');
    expect(stillOpen(sockets)).toEqual(sockets.slice(10));
    expect(sockets[0]?.closed?.code).toBe(CUT);
    lookUp.open({ driverId: DRIVER_ID });
    await settle();
    expect(speaking.ofType('state')).toHaveLength(1);
  });

  it('count by the /64 of an IPv6 address', async () => {
    const one = await flood(MAX_UNSIGNED_SOCKETS_PER_ADDRESS + 5, (index) => `2001:db8:0:1::${index.toString(16)}`);
    const other = await flood(5, () => '2001:db8:0:2::1');
    expect([stillOpen(one).length, stillOpen(other).length]).toEqual([MAX_UNSIGNED_SOCKETS_PER_ADDRESS, 5]);
  });

  it('keep no phone from signing in that comes from elsewhere, however many there are', async () => {
    const attacker = (index: number) => `198.51.100.${index % 9}`;
    let flooding = await flood(MAX_DRIVER_SOCKETS + 50, attacker);
    expect(stillOpen(flooding)).toHaveLength(MAX_UNSIGNED_DRIVER_SOCKETS);
    for (let round = 0; round < 20; round += 1) {
      const { socket, lookUp } = await slowSignIn();
      flooding = stillOpen([...flooding, ...(await flood(2 * MAX_UNSIGNED_DRIVER_SOCKETS, attacker))]);
      expect(socket.closed).toBeNull();
      lookUp.open({ driverId: DRIVER_ID });
      await settle();
      expect(socket.ofType('state')).toHaveLength(1);
    }
    expect(live.connected()).toBe(1);
    await pass(DRIVER_HELLO_MS);
    expect(stillOpen(flooding)).toEqual([]);
  });

  it('do not count against the drivers, and drivers not against them', async () => {
    find.mockImplementation(async (hash) => ({ driverId: hash }));
    findState.mockImplementation(async (hash) => ({ ...driverState(false), tokenHash: hash }));
    const hello = async (index: number) => {
      const socket = await connect();
      socket.say({ type: 'hello', token: `sdd_${String(index).padStart(32, '0')}` });
      return socket;
    };
    const silent = await flood(MAX_UNSIGNED_DRIVER_SOCKETS, (index) => `198.51.100.${index % 9}`);
    const first = await hello(0);
    for (let index = 1; index < MAX_DRIVER_SOCKETS; index += 1) await hello(index);
    await settle();
    expect(live.connected()).toBe(MAX_DRIVER_SOCKETS);
    expect(stillOpen(silent).length).toBeGreaterThan(MAX_UNSIGNED_DRIVER_SOCKETS / 2);
    const [oneTooMany, again] = [await hello(MAX_DRIVER_SOCKETS), await hello(0)];
    await settle();
    expect([oneTooMany.closed?.code, again.closed, first.closed?.code]).toEqual([1013, null, 4409]);
  });
});

describe('the allowance of a driver', () => {
  it('is one for all of their sockets and for positions over HTTP', async () => {
    const first = await signedIn();
    for (let sent = 0; sent < 9; sent += 1) first.say({ type: 'position', lat: 1, lng: 1 });
    const second = await signedIn();
    for (let sent = 0; sent < 4; sent += 1) allowances.messages.admit({ principal: { driverId: DRIVER_ID } });
    for (let sent = 0; sent < DRIVER_MESSAGE_BURST; sent += 1) second.say({ type: 'position', lat: 1, lng: 1 });
    // Two hellos and four positions over HTTP are the others.
    expect(report).toHaveBeenCalledTimes(DRIVER_MESSAGE_BURST - 6);
    expect(second.received.at(-1)).toMatchObject({ code: 'rate_limited' });
    expect(() => allowances.messages.admit({ principal: { driverId: DRIVER_ID } })).toThrow('Try again');
    const third = await signedIn();
    expect(third.closed?.code).toBe(1013);
  });
});

describe('a driver who is asked to wait', () => {
  const place = { lat: 40.7, lng: -74, name: 'Corner Market' };
  const waits = (socket: MemorySocket<DriverSession>) => socket.ofType('state').map((message) => message.wait_at);
  const move = async (socket: MemorySocket<DriverSession>, meters: number) => {
    lastPosition = displaced(place, meters, 0);
    socket.say({ type: 'position', ...lastPosition });
    await settle();
  };

  it('is told the place with the name of its store, and nothing else of it', async () => {
    state = { ...driverState(true), waitAt: { ...place, address: '1 Main St' } as never };
    expect(waits(await signedIn())).toEqual([place]);
  });

  it('is told that it is over once they are there', async () => {
    state = { ...driverState(true), waitAt: place };
    const socket = await signedIn();
    await move(socket, IDLE_WAIT_METERS + 20);
    expect(waits(socket)).toEqual([place]);
    await move(socket, IDLE_WAIT_METERS - 20);
    await move(socket, 0);
    expect(waits(socket)).toEqual([place, null]);
  });
});

describe('a driver with an order', () => {
  const order: DriverOrder = {
    id: '01900000-0000-7000-8000-000000000001',
    status: 'driver_assigned',
    sequence: 2,
    deliveryTier: 'standard',
    payoutCents: 550,
    storeName: 'Corner Books',
    carried: carrying('01900000-0000-7000-8000-000000000001', { pickup: { lat: 40, lng: -74 }, deliverByMs: NOW_MS }),
    items: [{ name: 'Floor lamp', quantity: 2 }],
    pickup: { address: '1 Main St', lat: 40, lng: -74, instructions: 'Back door' },
    dropoff: {
      name: 'Jordan Lee',
      phone: '+14155550123',
      line1: '9 Elm St',
      line2: 'Unit 4',
      city: 'Reno',
      state: 'NV',
      zip: '89509',
      instructions: 'Code 1234',
      leaveAtDoor: true,
    },
  };
  const { leaveAtDoor: leave_at_door, ...rest } = order.dropoff;
  const shown = { ...rest, leave_at_door };
  const hidden = { ...shown, name: null, phone: null, line2: null, instructions: null, leave_at_door: null };
  const metersNorth = (meters: number) => ({ lat: 40 + meters / 111_195, lng: -74 });
  const dropoffs = (socket: MemorySocket<DriverSession>) =>
    socket.ofType('state').map((message) => (message.order as { dropoff: unknown } | null)?.dropoff);
  const move = async (socket: MemorySocket<DriverSession>, meters: number) => {
    lastPosition = metersNorth(meters);
    socket.say({ type: 'position', ...lastPosition });
    await settle();
  };

  it('sees street and town alone before the pickup, wherever they are or not', async () => {
    state = driverState(true, [order]);
    expect(dropoffs(await signedIn())).toEqual([hidden]);
    lastPosition = metersNorth(400);
    expect(dropoffs(await signedIn())).toEqual([hidden]);
  });

  it('is told name, unit and phone once they are within 300 m of the store', async () => {
    state = driverState(true, [order]);
    lastPosition = metersNorth(400);
    const socket = await signedIn();
    await move(socket, 310);
    expect(dropoffs(socket)).toEqual([hidden]);
    await move(socket, 290);
    expect(dropoffs(socket)).toEqual([hidden, shown]);
    await move(socket, 200);
    expect(dropoffs(socket)).toHaveLength(2);
  });

  it('is told them once where their tracking app or another process said that they are there', async () => {
    state = driverState(true, [order]);
    const socket = await signedIn();
    for (const meters of [310, 290, 290]) {
      lastPosition = metersNorth(meters);
      live.driverMoved({ driverId: DRIVER_ID, ...lastPosition, atMs: NOW_MS });
      await settle();
    }
    expect(dropoffs(socket)).toEqual([hidden, shown]);
  });

  it.each(['picked_up', 'undeliverable'] as const)('sees the customer of an order that is %s', async (status) => {
    state = driverState(true, [{ ...order, status }]);
    expect(dropoffs(await signedIn())).toEqual([shown]);
  });

  it('sees the notes for the pickup from anywhere, and what is in the parcel only with the customer', async () => {
    state = driverState(true, [order]);
    lastPosition = metersNorth(400);
    const socket = await signedIn();
    await move(socket, 290);
    const orders = socket.ofType('state').map((message) => message.order as { items: unknown; pickup: unknown });
    expect(orders.map(({ items }) => items)).toEqual([null, order.items]);
    for (const { pickup } of orders) expect(pickup).toEqual(order.pickup);
  });
});

it('costs no read for a driver who is not connected', async () => {
  live.driverChanged(DRIVER_ID);
  live.everythingChanged();
  await settle();
  expect(findState).not.toHaveBeenCalled();
});
