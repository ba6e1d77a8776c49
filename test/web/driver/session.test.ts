import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { POSITION_FRESH_MS } from '../../../src/limits.ts';
import { type Action, type DriverOrder, stateOf } from '../../../src/web/driver/state.ts';

/** Code of the page that needs a browser, which the tests stand in for and whose types they do not have. */
const load = (name: string) => import(/* @vite-ignore */ join(import.meta.dirname, '../../../src/web/driver', name));

const ORDER: DriverOrder = {
  id: 'order-1',
  status: 'driver_assigned',
  sequence: 3,
  delivery_tier: 'standard',
  driver_payout_cents: 550,
  store_name: 'Corner Books',
  pickup: { address: '1 Main St', lat: 40, lng: -74 },
  dropoff: { name: null, phone: null, line1: '9 Oak St', line2: null, city: 'Reno', state: 'NV', zip: '89501' },
};
const TOLD = { success: true, driver_id: 'driver-ana', on_duty: true, orders: [ORDER] };
const PICKUP: Action = {
  id: 'pickup',
  number: 1,
  orderId: ORDER.id,
  kind: 'pick-up',
  reason: null,
  capturedAt: '2026-03-02T15:00:00.000Z',
  photo: null,
};

class Socket {
  static readonly OPEN = 1;
  readonly readyState = Socket.OPEN;
  onopen = () => {};
  onmessage = (_event: { readonly data: string }) => {};
  onclose = (_event: { readonly code: number; readonly reason: string }) => {};
  constructor() {
    sockets.push(this);
  }
  send(text: string): void {
    heard.push(JSON.parse(text).type);
  }
  close(): void {}
  tell(state: object): void {
    this.onmessage({ data: JSON.stringify({ type: 'state', ...state }) });
  }
}

const REPLIES: Readonly<Record<string, object>> = {
  orders: TOLD,
  'pick-up': { success: true, order: { status: 'picked_up', sequence: 4 } },
  location: { success: true, taken: true },
  day: { success: true, day: { deliveries: 0, earnings_cents: 0, held_cents: 0 } },
};
let sockets: Socket[];
/** What the service hears, by the last part of the path or the type of the message. */
let heard: string[];
/** What the page sends, heard or not. */
let tried: string[];
let hasNetwork: boolean;
let watch: { found(position: object): void; failed(error: object): void };
let refusal: { readonly status: number; readonly body: object } | null;
let lost: string[];
let kept: Map<string, Action>;
let session: {
  readonly problem: string | null;
  start(): Promise<void>;
  wake(): void;
  stop(): void;
  act(kind: string, ids: string[]): Promise<void>;
};

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
/** Lets time pass until this is so, for two minutes at most. */
async function until(isSo: () => boolean): Promise<void> {
  for (let ms = 0; ms < 120_000 && !isSo(); ms += 100) await pass(100);
}
const of = (...names: string[]) => heard.filter((name) => names.includes(name));
function move(): void {
  watch.found({ coords: { latitude: 40, longitude: -74, accuracy: 5 }, timestamp: Date.now() });
}

beforeEach(async () => {
  vi.useFakeTimers();
  // Pauses are as long as they may be.
  vi.spyOn(Math, 'random').mockReturnValue(1);
  sockets = [];
  heard = [];
  tried = [];
  hasNetwork = true;
  refusal = null;
  lost = [];
  kept = new Map();
  const geolocation = {
    watchPosition(found: (typeof watch)['found'], failed: (typeof watch)['failed']): number {
      watch = { found, failed };
      return 1;
    },
    clearWatch: () => {},
  };
  vi.stubGlobal('window', globalThis);
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('navigator', { onLine: true, geolocation });
  vi.stubGlobal('location', { href: 'https://sameday.test/driver' });
  vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} });
  vi.stubGlobal('WebSocket', Socket);
  vi.stubGlobal('fetch', async (path: string) => {
    const name = /(\w[\w-]*)(\?|$)/.exec(path)?.[1] ?? '';
    tried.push(name);
    if (!hasNetwork) throw new TypeError('Failed to fetch');
    heard.push(name);
    if (refusal && name === 'release') return Response.json(refusal.body, { status: refusal.status });
    return Response.json(REPLIES[name] ?? {});
  });
  const store = {
    all: async () => [...kept.values()],
    add: async (action: Action) => void kept.set(action.id, action),
    isKept: () => true,
    remove: async (id: string) => void kept.delete(id),
  };
  const tellLost = (orders: readonly DriverOrder[]) => lost.push(...orders.map(({ id }) => id));
  const listener = { changed() {}, signedOut() {}, gained() {}, lost: tellLost };
  const { Session } = await load('session.ts');
  session = new Session('sdd_any', stateOf(TOLD), store, listener);
});
afterEach(() => {
  session.stop();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('a position is told at once where nothing is owed, also before a socket is open', async () => {
  await session.start();
  move();
  await pass(0);
  expect(of('location')).toEqual(['location']);
});

test.each([
  ['that is shown again', true],
  ['that begins', false],
])('a page %s in a dead zone tells what was done once it is heard, and no position before', async (_, isShown) => {
  if (isShown) {
    await session.start();
    sockets[0]?.tell(TOLD);
    sockets[0]?.onclose({ code: 1006, reason: '' });
  } else kept.set(PICKUP.id, PICKUP);
  // The phone does not know that nothing gets through.
  hasNetwork = false;
  if (isShown) {
    await session.act('pick-up', [ORDER.id]);
    session.wake();
  } else await session.start();
  await pass(11 * 60_000);
  tried.length = 0;
  await until(() => tried.includes('pick-up'));
  heard.length = 0;
  hasNetwork = true;
  move();
  // No socket opens. The next try would be in half a minute.
  await until(() => of('orders', 'location').length > 0);
  await pass(0);
  move();
  await pass(2_000);
  expect(of('orders', 'pick-up', 'location')).toEqual(['orders', 'pick-up', 'orders', 'location']);
});

test.each([
  ['', false],
  [' and is shown again', true],
])('nor does one that opens no socket%s', async (_, isShown) => {
  await session.start();
  await until(() => of('orders').length > 0);
  await pass(20_000);
  hasNetwork = false;
  await session.act('pick-up', [ORDER.id]);
  // A hidden page does nothing meanwhile.
  if (isShown) session.wake();
  else await pass(11 * 60_000);
  hasNetwork = true;
  move();
  await pass(0);
  expect(of('location')).toEqual([]);
});

test('a phone that loses its position says so once no order can reach it, until it has one again', async () => {
  await session.start();
  const fail = () => watch.failed({ code: 3, PERMISSION_DENIED: 1 });
  fail();
  expect(session.problem).toBe('unavailable');
  move();
  expect(session.problem).toBe(null);
  await pass(POSITION_FRESH_MS - 1);
  fail();
  expect(session.problem).toBe(null);
  await pass(1);
  fail();
  expect(session.problem).toBe('unavailable');
  move();
  expect(session.problem).toBe(null);
});

test.each([
  [429, 'too_many_releases', [ORDER.id]],
  [409, 'illegal_transition', []],
])('an order that is gone after a %i %s is told as far as the refusal does not say it', async (status, code, gone) => {
  await session.start();
  sockets[0]?.tell(TOLD);
  refusal = { status, body: { success: false, message: 'No.', error: { code } } };
  await session.act('release', [ORDER.id]);
  await pass(0);
  sockets[0]?.tell({ ...TOLD, orders: [] });
  expect(lost).toEqual(gone);
});

/** The phone's storage, which answers nothing by itself, and the writes that it was asked for. */
function storage() {
  const writes: string[] = [];
  const transactions: { readonly objectStore: () => object; oncomplete?: () => void; onerror?: () => void }[] = [];
  const asked = (what: string) => () => {
    writes.push(what);
    return {};
  };
  const read = { result: [] as Action[] };
  const answer = (stored: Action[]) => {
    read.result = stored;
  };
  const getAll = () => read;
  const actions = { put: asked('put'), delete: asked('delete'), getAll };
  const database = {
    close() {},
    transaction() {
      const made = { objectStore: () => actions };
      transactions.push(made);
      return made;
    },
  };
  const openings: { readonly result: object; onsuccess?: () => void }[] = [];
  const open = () => {
    openings.push({ result: database });
    return openings.at(-1);
  };
  vi.stubGlobal('indexedDB', { open });
  return { writes, transactions, openings, answer };
}
async function openedStore({ openings }: ReturnType<typeof storage>) {
  const { openStore } = await load('store.ts');
  const opened = openStore();
  openings[0]?.onsuccess?.();
  return opened;
}

test('a write that the phone’s storage does not answer counts as refused after 5 s, until it does', async () => {
  const phone = storage();
  const store = await openedStore(phone);
  const added = store.add(PICKUP).then(
    () => 'kept',
    () => 'refused',
  );
  await pass(4_999);
  expect(store.isKept(PICKUP.id)).toBe(true);
  await pass(1);
  expect([await added, store.isKept(PICKUP.id), store.added()]).toEqual(['refused', false, [PICKUP]]);
  // It is not tried again, as it may be done yet.
  expect(phone.writes).toEqual(['put']);
  phone.transactions[0]?.oncomplete?.();
  await pass(0);
  expect(store.isKept(PICKUP.id)).toBe(true);
});

test('a storage that opens after its 5 s has what was done meanwhile', async () => {
  const phone = storage();
  const { openStore } = await load('store.ts');
  const opened = openStore();
  await pass(5_000);
  const store = await opened;
  const added = expect(store.add(PICKUP)).rejects.toThrow('does not answer');
  await pass(5_000);
  await added;
  expect(phone.writes).toEqual([]);
  phone.openings[0]?.onsuccess?.();
  await pass(0);
  phone.transactions[0]?.oncomplete?.();
  await pass(0);
  expect([phone.writes, store.isKept(PICKUP.id)]).toEqual([['put'], true]);
});

test('an action that is done while the phone’s storage is read is not in what it reads', async () => {
  const phone = storage();
  const store = await openedStore(phone);
  const all = store.all();
  await pass(0);
  void store.remove(PICKUP.id);
  await pass(0);
  phone.answer([PICKUP]);
  phone.transactions[0]?.oncomplete?.();
  expect(await all).toEqual([]);
});

test('an action that is sent while its write is tried again is not kept after that', async () => {
  const phone = storage();
  const store = await openedStore(phone);
  const added = store.add(PICKUP);
  await pass(0);
  phone.transactions[0]?.onerror?.();
  await pass(0);
  const removed = store.remove(PICKUP.id);
  phone.openings[1]?.onsuccess?.();
  await pass(0);
  for (const transaction of phone.transactions.slice(1)) transaction.oncomplete?.();
  await Promise.all([added, removed]);
  expect(phone.writes).toEqual(['put', 'delete', 'delete']);
});
