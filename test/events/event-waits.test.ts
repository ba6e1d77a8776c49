import { expect, test } from 'vitest';
import { EventWaits } from '../../src/events/event-waits.ts';
import { AbortNotice } from '../../src/transport/signal.ts';

/** A log that a reader polls; `found` once it has a line. */
function openLog(waits: EventWaits, retailerIds: readonly string[] = ['store']) {
  const lines: string[] = [];
  let reads = 0;
  const signal = new AbortNotice();
  return {
    lines,
    signal,
    reads: () => reads,
    wait: (waitMs = 60_000, holderId = retailerIds[0] ?? '') =>
      waits.untilFound(
        { holderId, retailerIds, waitMs, signal },
        async () => {
          reads++;
          return [...lines];
        },
        (found) => found.length > 0,
      ),
  };
}
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a wait ends with the first event of its store, and reads nothing for another store', async () => {
  const waits = new EventWaits();
  const log = openLog(waits);
  const waiting = log.wait();
  await settled();
  waits.wake(['other']);
  await settled();
  expect([log.reads(), waits.count]).toEqual([1, 1]);
  log.lines.push('event');
  waits.wake(['other', 'store']);
  expect(await waiting).toEqual(['event']);
  expect([log.reads(), waits.count]).toEqual([2, 0]);
});

test('a wait for several stores ends with an event of any of them', async () => {
  const waits = new EventWaits();
  const log = openLog(waits, ['one', 'two']);
  const waiting = log.wait();
  await settled();
  log.lines.push('event');
  waits.wake(['two']);
  expect(await waiting).toEqual(['event']);
});

test('the waits of a chain end when its stores change, and those of others go on', async () => {
  const waits = new EventWaits();
  const [chain, other] = [openLog(waits, ['one']), openLog(waits, ['two'])];
  const [ended, going] = [chain.wait(60_000, 'chain'), other.wait(60_000, 'other chain')];
  await settled();
  waits.endOf(['chain']);
  expect(await ended).toEqual([]);
  expect(waits.count).toBe(1);
  other.lines.push('event');
  waits.wake(['two']);
  expect(await going).toEqual(['event']);
});

test('an event that comes during a read is not missed', async () => {
  const waits = new EventWaits();
  let reads = 0;
  const found = await waits.untilFound(
    { holderId: 'store', retailerIds: ['store'], waitMs: 60_000, signal: new AbortNotice() },
    async () => {
      // The first read saw nothing, and the notice comes before its answer.
      if (++reads === 1) waits.wake(['store']);
      return reads;
    },
    (result) => result > 1,
  );
  expect(found).toBe(2);
});

test('a wait ends with its time, with its client, and with the server', async () => {
  const waits = new EventWaits();
  expect(await openLog(waits).wait(1)).toEqual([]);
  const left = openLog(waits);
  const waiting = left.wait();
  left.signal.abort();
  expect(await waiting).toEqual([]);
  const stopped = openLog(waits).wait();
  await settled();
  waits.close();
  expect(await stopped).toEqual([]);
  expect(await openLog(waits).wait()).toEqual([]);
  expect(waits.count).toBe(0);
});

test('so many of one store may wait, and so many of all', async () => {
  const waits = new EventWaits({ all: 3, ofHolder: 2 });
  const ends = [openLog(waits), openLog(waits), openLog(waits, ['other'])].map((log) => log.wait());
  await settled();
  await expect(openLog(waits).wait()).rejects.toMatchObject({ code: 'rate_limited' });
  await expect(openLog(waits, ['third']).wait()).rejects.toMatchObject({ code: 'unavailable' });
  waits.close();
  await Promise.all(ends);
  expect(waits.count).toBe(0);
});

test('a read that fails ends the wait and frees its place', async () => {
  const waits = new EventWaits();
  const failing = waits.untilFound(
    { holderId: 'store', retailerIds: ['store'], waitMs: 60_000, signal: new AbortNotice() },
    () => Promise.reject(new Error('away')),
    () => false,
  );
  await expect(failing).rejects.toThrow('away');
  expect(waits.count).toBe(0);
});
