import { expect, test } from 'vitest';
import {
  MAX_SLOW_WEBHOOKS,
  MAX_SLOW_WEBHOOKS_PER_STORE,
  MAX_WEBHOOKS_IN_LINE,
  MAX_WEBHOOKS_PER_STORE,
  type Receiver,
  type Turn,
  WEBHOOK_SLOW_MS,
  WebhookTurns,
} from '../../src/events/webhook-turns.ts';
import { MAX_WEBHOOKS_PER_ENDPOINT, WEBHOOK_CONCURRENCY } from '../../src/limits.ts';

const QUICK_MS = WEBHOOK_SLOW_MS - 1;
const of = (ownerId: string, n = 0): Receiver => ({ id: `${ownerId}'s webhook ${n}`, ownerId });
const range = (count: number) => Array.from({ length: count }, (_, i) => i);

/** The turns of a worker whose receivers answer as slowly as they say. */
function openTurns() {
  const turns = new WebhookTurns();
  /** What began, by its receiver; null was parked, and what is missing waits in line. */
  const begun: { readonly receiver: Receiver; readonly turn: Turn | null }[] = [];
  /** Asks for turns; what can begin has begun when it resolves. */
  async function ask(receiver: Receiver, count = 1): Promise<number> {
    const before = running(receiver).length;
    for (let i = 0; i < count; i++) {
      void turns.take(receiver).then((turn) => begun.push({ receiver, turn }));
    }
    await settled();
    return running(receiver).length - before;
  }
  const running = (receiver: Receiver) =>
    begun.filter((each) => each.receiver.id === receiver.id && each.turn !== null);
  async function end(receiver: Receiver, tookMs: number): Promise<void> {
    const index = begun.findIndex((each) => each.receiver.id === receiver.id && each.turn !== null);
    const [ended] = begun.splice(index, 1);
    ended?.turn?.answered(tookMs);
    ended?.turn?.end();
    await settled();
  }
  async function known(receiver: Receiver, tookMs: number): Promise<Receiver> {
    expect(await ask(receiver)).toBe(1);
    await end(receiver, tookMs);
    return receiver;
  }
  const ofOwner = (ownerId: string) => begun.filter((each) => each.turn !== null && each.receiver.ownerId === ownerId);
  return { turns, ask, end, known, running, ofOwner, parked: () => begun.filter(({ turn }) => turn === null).length };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test('owners whose receivers are slow leave half of the places to quick ones, and none has more than an eighth', async () => {
  const { ask, known, ofOwner } = openTurns();
  const owners = range(8).map((n) => `owner ${n}`);
  for (const owner of owners) {
    for (const n of range(5)) await known(of(owner, n), 4_900);
  }
  for (const owner of owners) {
    for (const n of range(5)) await ask(of(owner, n), 20);
  }
  const taken = owners.map((owner) => ofOwner(owner).length);
  expect(taken.reduce((sum, each) => sum + each)).toBe(MAX_SLOW_WEBHOOKS);
  expect(Math.max(...taken)).toBe(MAX_SLOW_WEBHOOKS_PER_STORE);
  const quick = await known(of('a quick store'), QUICK_MS);
  expect(await ask(quick, 20)).toBe(MAX_WEBHOOKS_PER_ENDPOINT);
});

test('a receiver that nobody knows has one place until it has answered, however many are to be told', async () => {
  const { ask, end, parked } = openTurns();
  expect(await ask(of('store'), 10)).toBe(1);
  expect(parked()).toBe(9);
  await end(of('store'), QUICK_MS);
  expect(await ask(of('store'), 10)).toBe(MAX_WEBHOOKS_PER_ENDPOINT);
});

test('of one owner so many are under way, of all webhooks together', async () => {
  const { ask, known, ofOwner } = openTurns();
  for (const n of range(5)) await known(of('store', n), QUICK_MS);
  for (const n of range(5)) await ask(of('store', n), 20);
  expect(ofOwner('store')).toHaveLength(MAX_WEBHOOKS_PER_STORE);
});

test('a receiver whose last answer was slow counts as slow until one is quick', async () => {
  const { ask, end, known } = openTurns();
  for (const n of range(5)) await known(of('store', n), 4_900);
  for (const n of range(5)) await ask(of('store', n), 20);
  expect(await ask(of('store', 4), 1)).toBe(0);
  await end(of('store', 0), QUICK_MS);
  expect(await ask(of('store', 0), 1)).toBe(1);
});

test('a place that becomes free goes to the owner with the fewest under way, and then to who came first', async () => {
  const { ask, end, known, running } = openTurns();
  const owners = range(WEBHOOK_CONCURRENCY / MAX_WEBHOOKS_PER_ENDPOINT).map((n) => of(`owner ${n}`));
  const more = of('owner 0', 1);
  const late = [of('late 0'), of('late 1')];
  for (const receiver of [...owners, more, ...late]) await known(receiver, QUICK_MS);
  for (const receiver of owners) await ask(receiver, MAX_WEBHOOKS_PER_ENDPOINT);
  for (const receiver of [more, ...late]) expect(await ask(receiver)).toBe(0);
  const begun = () => [...late, more].map((receiver) => running(receiver).length);
  await end(of('owner 1'), QUICK_MS);
  expect(begun()).toEqual([1, 0, 0]);
  await end(of('owner 1'), QUICK_MS);
  expect(begun()).toEqual([1, 1, 0]);
  await end(of('owner 1'), QUICK_MS);
  expect(begun()).toEqual([1, 1, 1]);
});

test('of each receiver one delivery waits in line, and the line is short; what does not fit is parked', async () => {
  const { ask, known, parked, end, running } = openTurns();
  for (const n of range(4)) for (const m of range(2)) await known(of(`slow ${n}`, m), 4_900);
  for (const n of range(4)) for (const m of range(2)) await ask(of(`slow ${n}`, m), 4);
  const others = range(MAX_WEBHOOKS_IN_LINE + 3).map((n) => of(`other ${n}`));
  for (const other of others) await known(other, 4_900);
  const before = parked();
  for (const other of others) await ask(other, 2);
  expect(parked() - before).toBe(2 * others.length - MAX_WEBHOOKS_IN_LINE);
  await end(of('slow 0', 0), 4_900);
  expect(running(others[0] as Receiver)).toHaveLength(1);
});

test('one that was accepted is followed by two, by one while others wait, and never by none', async () => {
  const { turns } = openTurns();
  const turn = (await turns.take(of('store'))) as Turn;
  turn.answered(QUICK_MS);
  expect(turn.follows()).toBe(2);
  const others = await Promise.all(range(MAX_WEBHOOKS_PER_ENDPOINT - 1).map(() => turns.take(of('store'))));
  expect(others.every((each) => each !== null)).toBe(true);
  expect(turn.follows()).toBe(1);
});
