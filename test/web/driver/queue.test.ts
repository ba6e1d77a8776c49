import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Sent } from '../../../src/web/driver/lane.ts';
import { ActionQueue, type ActionStore, meaningOf, STORAGE_MS } from '../../../src/web/driver/queue.ts';
import type { Action } from '../../../src/web/driver/state.ts';

const DONE: Sent = { kind: 'done', status: 'picked_up', sequence: 3 };
const LATER: Sent = { kind: 'later' };

const JPEG = Uint8Array.of(1, 2, 3).buffer;
const ANA = 'driver-ana';

function action(id: string, changes: Partial<Action> = {}): Omit<Action, 'number' | 'driverId'> {
  return {
    id,
    orderId: 'order-1',
    kind: 'pick-up',
    reason: null,
    capturedAt: '2026-03-02T15:00:00.000Z',
    photo: null,
    ...changes,
  };
}

/** The storage, which outlives a page: a restart is a new queue over it. */
function storage(): ActionStore & { readonly kept: Map<string, Action> } {
  const kept = new Map<string, Action>();
  return {
    kept,
    all: async () => [...kept.values()].toSorted((a, b) => a.number - b.number),
    added: () => [...kept.values()],
    add: async (added) => void kept.set(added.id, added),
    isKept: () => true,
    remove: async (id) => void kept.delete(id),
  };
}

/** The same while the phone is full: it has what it refuses until the page is closed. */
const full = (): ActionStore => ({
  ...store,
  async add(added) {
    await store.add(added);
    throw new Error('QuotaExceededError');
  },
  isKept: () => false,
});

let store: ReturnType<typeof storage>;
let told: string[];
const send = vi.fn<(action: Action, signal: AbortSignal) => Promise<Sent>>();
const shrink = vi.fn<(photo: ArrayBuffer, mostBytes: number) => Promise<ArrayBuffer | null>>();

function newQueue(kept: ActionStore = store, driverId: string | null = ANA): ActionQueue {
  const listener = {
    changed: () => {},
    done: ({ id }: Action, { status }: { status: string }) => told.push(`${id} is ${status}`),
    refused: ({ id, refusal }: Action) => told.push(`${id} refused: ${refusal?.message}`),
    signedOut: () => told.push('signed out'),
  };
  return new ActionQueue(kept, { send, shrink }, listener, driverId, () => 1);
}
/** A queue of the page that has begun, with these actions. */
async function working(...added: ReturnType<typeof action>[]): Promise<ActionQueue> {
  return begun(newQueue(), ...added);
}
async function begun(queue: ActionQueue, ...added: ReturnType<typeof action>[]): Promise<ActionQueue> {
  await queue.start();
  for (const each of added) await queue.add(each);
  await flush();
  return queue;
}
const sent = () => send.mock.calls.map(([{ id }]) => id);
const flush = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
  store = storage();
  told = [];
  send.mockReset().mockResolvedValue(DONE);
  shrink.mockReset().mockResolvedValue(null);
});
afterEach(() => vi.useRealTimers());

describe('the actions of a driver', () => {
  it('of one order are sent in their order, each when the one before it is answered', async () => {
    let answer: (sent: Sent) => void = () => {};
    send.mockImplementation(() => new Promise((resolve) => (answer = resolve)));
    await working(action('a'), action('b'));
    expect(sent()).toEqual(['a']);
    answer(DONE);
    await flush();
    expect(sent()).toEqual(['a', 'b']);
  });

  it('with a photo hold up none of another order, which is sent beside them', async () => {
    const answers = new Map<string, (sent: Sent) => void>();
    send.mockImplementation(({ id }) => new Promise((resolve) => answers.set(id, resolve)));
    const queue = newQueue();
    await queue.start();
    await queue.add(action('photo', { kind: 'deliver', photo: JPEG }));
    await queue.add(action('pick-up', { orderId: 'order-2' }));
    await queue.add(action('next photo', { orderId: 'order-2', kind: 'deliver', photo: JPEG }));
    await flush();
    expect(sent()).toEqual(['photo', 'pick-up']);
    answers.get('pick-up')?.(DONE);
    await flush();
    expect(queue.waiting.map(({ id }) => id)).toEqual(['photo', 'next photo']);
    answers.get('photo')?.(DONE);
    await flush();
    expect(sent()).toEqual(['photo', 'pick-up', 'next photo']);
  });

  it('have a smaller photo after each try that was too slow, as far as it can be made smaller', async () => {
    const small = Uint8Array.of(1).buffer;
    shrink.mockResolvedValueOnce(small);
    send.mockResolvedValueOnce(LATER).mockResolvedValue({ kind: 'later', isSlow: true });
    const queue = newQueue();
    await queue.start();
    await queue.add(action('a', { kind: 'deliver', photo: JPEG }));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(send.mock.calls.slice(0, 4).map(([{ photo }]) => photo)).toEqual([JPEG, JPEG, small, small]);
    expect(store.kept.get('a')?.photo).toEqual(small);
    expect(shrink.mock.calls.slice(0, 2)).toEqual([
      [JPEG, 1],
      [small, 1 / 3],
    ]);

    // The next one begins with what got through.
    send.mockReset().mockResolvedValue(DONE);
    shrink.mockReset().mockResolvedValue(small);
    queue.wake();
    await queue.add(action('b', { kind: 'deliver', photo: JPEG }));
    await flush();
    expect(send.mock.calls.map(([{ id, photo }]) => [id, photo?.byteLength])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  it('wait for the driver who did them, whoever signs in meanwhile', async () => {
    send.mockResolvedValue(LATER);
    const anas = newQueue();
    await anas.start();
    await anas.add(action('a', { kind: 'deliver', photo: JPEG }));
    anas.stop();
    send.mockReset().mockResolvedValue(DONE);
    const bens = await begun(newQueue(store, 'driver-ben'), action('b'));
    expect(sent()).toEqual(['b']);
    expect([bens.waiting.length, bens.refused.length]).toEqual([0, 0]);
    bens.stop();
    expect(store.kept.get('a')?.photo).toEqual(JPEG);

    // After a sign-in by link the page learns later who the driver is.
    const unknown = await begun(newQueue(store, null));
    expect(sent()).toEqual(['b']);
    unknown.isOf(ANA);
    await flush();
    expect(sent()).toEqual(['b', 'a']);
    expect(store.kept.size).toBe(0);
  });

  it.each([
    ['before', false],
    ['after', true],
  ])(
    'are sent once and in their order where one is done while the storage, %s it has it, is read',
    async (_, isLate) => {
      send.mockResolvedValue(LATER);
      (await working(action('a'), action('b'))).stop();
      await vi.advanceTimersByTimeAsync(1_000);
      let read = () => {};
      const reading = new Promise<void>((resolve) => (read = resolve));
      const slow = async () => {
        const early = await store.all();
        await reading;
        return isLate ? store.all() : early;
      };
      const queue = newQueue({ ...store, all: slow });
      const started = queue.start();
      await queue.add(action('c'));
      read();
      await started;
      expect(queue.waiting.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
      queue.stop();
      send.mockReset().mockResolvedValue(DONE);
      await working();
      expect(sent()).toEqual(['a', 'b', 'c']);
    },
  );

  it('that the page of before kept are sent, though they name no driver', async () => {
    await store.add({ ...action('old'), number: 1 });
    await working();
    expect(told).toEqual(['old is picked_up']);
  });

  it('are tried again by themselves with growing pauses of at most 30 s', async () => {
    send.mockResolvedValue(LATER);
    await working(action('a'));
    const pauses: number[] = [];
    for (let tries = send.mock.calls.length; pauses.length < 8; tries = send.mock.calls.length) {
      const before = Date.now();
      while (send.mock.calls.length === tries) await vi.advanceTimersByTimeAsync(100);
      pauses.push(Math.round((Date.now() - before) / 1_000));
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
    send.mockResolvedValue(DONE);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(told).toEqual(['a is picked_up']);
  });

  it('outlive a restart of the page, photo and reason included', async () => {
    send.mockResolvedValue(LATER);
    const before = newQueue();
    await before.start();
    const photo = Uint8Array.of(1, 2, 3).buffer;
    await before.add(action('a'));
    await before.add(action('b', { kind: 'deliver', photo }));
    await before.add(action('c', { kind: 'release', reason: 'vehicle' }));
    before.stop();
    send.mockReset().mockResolvedValue(DONE);
    await working();
    expect(sent()).toEqual(['a', 'b', 'c']);
    expect(send.mock.calls[1]?.[0]).toMatchObject({ kind: 'deliver', photo });
    expect(send.mock.calls[2]?.[0]).toMatchObject({ kind: 'release', reason: 'vehicle' });
    expect(store.kept.size).toBe(0);
  });

  it('stay with their photo when the service refuses them, until the driver has seen it, and the others go on', async () => {
    const why = { code: 'illegal_transition', message: 'The order is cancelled.', retryAfterSeconds: null };
    send.mockResolvedValueOnce({ kind: 'refused', ...why });
    const queue = await working(action('a', { kind: 'deliver', photo: JPEG }), action('b'));
    expect(told).toEqual(['a refused: The order is cancelled.', 'b is picked_up']);
    expect(queue.waiting).toEqual([]);
    queue.stop();
    const after = await working();
    expect(after.refused).toMatchObject([{ id: 'a', photo: JPEG, refusal: why }]);
    expect(sent()).toEqual(['a', 'b']);
    await after.dismiss('a');
    expect([after.refused.length, store.kept.size]).toEqual([0, 0]);
  });

  it('stay where the token is no longer valid, and nothing more is sent', async () => {
    send.mockResolvedValue({ kind: 'signed_out' });
    const queue = await working(action('a'));
    await queue.add(action('b'));
    await vi.advanceTimersByTimeAsync(120_000);
    expect(sent()).toEqual(['a']);
    expect(told).toEqual(['signed out']);
    expect([...store.kept.keys()]).toEqual(['a', 'b']);
  });

  it('are not sent by a page that stopped while it loaded them', async () => {
    await store.add({ ...action('a'), number: 1 });
    const queue = newQueue();
    const started = queue.start();
    queue.stop();
    await started;
    await flush();
    expect(sent()).toEqual([]);
  });

  it('are sent although the phone’s storage refuses them, and the driver is warned', async () => {
    send.mockResolvedValueOnce(LATER);
    const queue = await begun(newQueue(full()), action('a'));
    expect(queue.isUnkept).toBe(true);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told).toEqual(['a is picked_up']);
    expect(queue.isUnkept).toBe(false);
  });

  it.each(['add', 'remove'])('are sent each in turn although the phone’s storage never answers to %s', async (name) => {
    send.mockResolvedValueOnce({ kind: 'refused', code: null, message: 'No.', retryAfterSeconds: null });
    const queue = newQueue({ ...store, [name]: () => new Promise(() => {}) });
    await queue.start();
    for (const id of ['a', 'b', 'c']) void queue.add(action(id));
    await flush();
    expect(told).toEqual(['a refused: No.', 'b is picked_up', 'c is picked_up']);
    expect(queue.waiting).toEqual([]);
  });

  it('are sent although the phone’s storage cannot be read yet, and what it has once it can be', async () => {
    let answer = (_stored: Action[]) => {};
    const all = () => new Promise<Action[]>((resolve) => (answer = resolve));
    const queue = newQueue({ ...store, all });
    const started = queue.start();
    void queue.add(action('b'));
    await flush();
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(STORAGE_MS);
    await started;
    expect(told).toEqual(['b is picked_up']);
    answer([{ ...action('a'), number: 1 }]);
    await flush();
    expect(told).toEqual(['b is picked_up', 'a is picked_up']);
  });

  it('that the phone’s storage refused are there for the next session, which warns of them too', async () => {
    send.mockResolvedValue(LATER);
    const before = await begun(newQueue(full()), action('a', { kind: 'deliver', photo: JPEG }));
    before.stop();
    const after = await begun(newQueue(full()));
    expect(after.isUnkept).toBe(true);
    send.mockResolvedValue(DONE);
    after.wake();
    await flush();
    expect(told).toEqual(['a is picked_up']);
  });

  it('are given up on their way when the network goes, so that the next try does not wait for them', async () => {
    let signal: AbortSignal | undefined;
    send.mockImplementationOnce(
      (_action, given) =>
        new Promise((resolve) => {
          signal = given;
          given.addEventListener('abort', () => resolve(LATER));
        }),
    );
    const queue = await working(action('a'));
    queue.interrupt();
    expect(signal?.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told).toEqual(['a is picked_up']);
  });

  it('reach the service in their order and each once as it counts, whatever fails and however often the page restarts', async () => {
    const happening = fc.constantFrom('answered', 'lost', 'failed', 'restart', 'wake', 'add');
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 40 }), async (happenings) => {
        store = storage();
        const taken: string[] = [];
        let fate: 'answered' | 'lost' | 'failed' = 'failed';
        send.mockReset().mockImplementation(async ({ id }) => {
          if (fate === 'failed') return LATER;
          // The service recognizes an id, so sending it twice changes nothing.
          if (!taken.includes(id)) taken.push(id);
          return fate === 'lost' ? LATER : DONE;
        });
        let queue = newQueue();
        await queue.start();
        const made: string[] = [];
        for (const happens of happenings) {
          if (happens === 'add') {
            made.push(`action-${made.length}`);
            await queue.add(action(made.at(-1) ?? ''));
          } else if (happens === 'restart') {
            queue.stop();
            queue = newQueue();
            await queue.start();
          } else if (happens === 'wake') queue.wake();
          else fate = happens;
          await flush();
        }
        fate = 'answered';
        queue.wake();
        await vi.advanceTimersByTimeAsync(60_000);
        expect(taken).toEqual(made);
        expect([queue.waiting.length, store.kept.size]).toEqual([0, 0]);
        queue.stop();
      }),
      { numRuns: 200 },
    );
  });
});

describe('what a reply means', () => {
  const refusal = { success: false, message: 'There is no such order.' };

  it('is done where the service says so', () => {
    const body = { success: true, order: { status: 'delivered', sequence: 5 } };
    expect(meaningOf(200, body)).toEqual({ kind: 'done', status: 'delivered', sequence: 5 });
  });

  it.each([
    [
      [400, 404, 409, 413, 415, 422],
      { kind: 'refused', code: null, message: refusal.message, retryAfterSeconds: null },
    ],
    [[408, 429, 500, 502, 503, 504], LATER],
    [[401], { kind: 'signed_out' }],
  ])('is of %j as what will never be taken, may pass, or needs a token', (statuses, meaning) => {
    for (const status of statuses) expect(meaningOf(status, refusal)).toEqual(meaning);
  });

  it('is a refusal where no further order can be given back for an hour, so that the driver is told', () => {
    const body = { success: false, message: 'Too many.', error: { code: 'too_many_releases' } };
    const why = { code: 'too_many_releases', message: 'Too many.', retryAfterSeconds: 600 };
    expect(meaningOf(429, body, 600)).toEqual({ kind: 'refused', ...why });
  });

  it('is "later" for every answer that is not the service’s own, whatever its status', () => {
    for (const status of [200, 302, 401, 403, 404, 409, 422]) {
      for (const body of [null, 'Welcome to the hotel', [], {}, { success: 'yes' }]) {
        expect(meaningOf(status, body)).toEqual(LATER);
      }
    }
    expect(meaningOf(200, { success: true })).toEqual(LATER);
  });
});
