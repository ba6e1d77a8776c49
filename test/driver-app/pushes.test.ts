import { expect, test } from 'vitest';
import type { PushKind, PushSubscription } from '../../src/domain/push.ts';
import type { PushOutcome } from '../../src/driver-app/push-sender.ts';
import { createPushes, MAX_PUSH_BATCH, MAX_PUSHES_WAITING, PUSH_CONCURRENCY } from '../../src/driver-app/pushes.ts';
import { gate } from '../http/support.ts';

const phone = (name: string): PushSubscription => ({
  endpoint: `https://push.example.com/${name}`,
  p256dh: '',
  auth: '',
});
const settled = () => new Promise((resolve) => setImmediate(resolve));

function world(phonesOf: (driverId: string) => readonly PushSubscription[] = (id) => [phone(id)]) {
  const reads: (readonly string[])[] = [];
  const sent: [string, PushKind][] = [];
  const outcomes: string[] = [];
  const forgotten: string[] = [];
  const failures: unknown[] = [];
  let answer: (endpoint: string) => Promise<PushOutcome> = async () => 'sent';
  let reading = Promise.resolve();
  const pushes = createPushes({
    store: {
      async findPushSubscriptions(ids) {
        reads.push(ids);
        await reading;
        return new Map(ids.map((id) => [id, [...phonesOf(id)]]));
      },
      forgetPushEndpoint: async (endpoint) => void forgotten.push(endpoint),
    },
    send(to, kind) {
      sent.push([to.endpoint.split('/').at(-1) ?? '', kind]);
      return answer(to.endpoint);
    },
    observe: (outcome) => outcomes.push(outcome),
    failed: (error) => failures.push(error),
  });
  return {
    pushes,
    reads,
    sent,
    outcomes,
    forgotten,
    failures,
    answerBy(how: typeof answer) {
      answer = how;
    },
    holdReads(until: Promise<void>) {
      reading = until;
    },
  };
}

test('each phone of a driver is told, and one without a phone costs nothing but the read', async () => {
  const { pushes, sent, outcomes } = world((id) => (id === 'a' ? [phone('a1'), phone('a2')] : []));
  pushes.tell('a', 'given');
  pushes.tell('b', 'taken');
  await settled();
  expect(sent).toEqual([
    ['a1', 'given'],
    ['a2', 'given'],
  ]);
  expect(outcomes).toEqual(['sent', 'sent']);
});

test('drivers who come while a read is under way share the next one, each with what came last', async () => {
  const { pushes, reads, sent, holdReads } = world();
  const held = gate();
  holdReads(held.opened);
  pushes.tell('first', 'given');
  for (let n = 0; n < MAX_PUSH_BATCH + 1; n++) pushes.tell(`driver${n}`, 'given');
  pushes.tell('driver0', 'taken');
  held.open();
  await expect.poll(() => sent.length).toBe(MAX_PUSH_BATCH + 2);
  expect(reads.map((ids) => ids.length)).toEqual([1, MAX_PUSH_BATCH, 1]);
  expect(sent.filter(([name]) => name === 'driver0')).toEqual([['driver0', 'taken']]);
});

test('a phone that is gone is forgotten, and no other', async () => {
  const { pushes, forgotten, outcomes, answerBy } = world();
  answerBy(async (endpoint) => (endpoint.endsWith('old') ? 'gone' : 'refused'));
  for (const id of ['old', 'new']) pushes.tell(id, 'given');
  await expect.poll(() => outcomes.toSorted()).toEqual(['gone', 'refused']);
  expect(forgotten).toEqual([phone('old').endpoint]);
});

test('only so many are sent at once and wait; the others are dropped and counted', async () => {
  const { pushes, sent, outcomes, answerBy } = world();
  const held = gate();
  answerBy(async () => {
    await held.opened;
    return 'sent';
  });
  const tell = (count: number) => {
    for (let n = 0; n < count; n++) pushes.tell(`driver${n}`, 'given');
  };
  tell(PUSH_CONCURRENCY);
  await expect.poll(() => sent.length).toBe(PUSH_CONCURRENCY);
  tell(MAX_PUSHES_WAITING + 7);
  expect(outcomes).toEqual(Array(7).fill('dropped'));
  held.open();
  await expect.poll(() => sent.length).toBe(PUSH_CONCURRENCY + MAX_PUSHES_WAITING);
});

test('a read that fails loses its pushes alone', async () => {
  const { pushes, sent, outcomes, failures, holdReads } = world();
  holdReads(Promise.reject(new Error('away')));
  pushes.tell('a', 'given');
  await expect.poll(() => outcomes).toEqual(['dropped']);
  expect(failures).toHaveLength(1);
  holdReads(Promise.resolve());
  pushes.tell('b', 'given');
  await expect.poll(() => sent).toEqual([['b', 'given']]);
});

test('nothing is sent after the end', async () => {
  const { pushes, sent } = world();
  pushes.close();
  pushes.tell('a', 'given');
  await settled();
  expect(sent).toEqual([]);
});
