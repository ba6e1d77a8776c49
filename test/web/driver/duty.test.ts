import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Answer, DriverApi, type Duty } from '../../../src/web/driver/api.ts';
import { DutyWish } from '../../../src/web/driver/duty.ts';

const NOW = Date.parse('2026-03-02T15:00:00.000Z');
const OFF: Duty = { onDuty: false, until: null };
const ON: Duty = { onDuty: true, until: null };
const until = (aheadMs: number): Duty => ({ onDuty: true, until: new Date(NOW + aheadMs).toISOString() });

const setDuty = vi.fn<(duty: Duty) => Promise<Answer<unknown>>>();
let told: string[];
/** Since when the next page finds that the driver wants to be off duty. */
let keptSince: number | null;
let wish: DutyWish;

const sent = () => setDuty.mock.calls.map(([duty]) => duty);
const flush = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  setDuty.mockReset().mockResolvedValue({ kind: 'ok', value: {} });
  told = [];
  const listener = {
    taken: ({ onDuty }: Duty) => told.push(onDuty ? 'on duty' : 'off duty'),
    dropped: () => told.push('dropped'),
    signedOut: () => told.push('signed out'),
  };
  keptSince = null;
  const kept = { offDutySinceMs: () => null, keepOffDutySince: (ms: number | null) => (keptSince = ms) };
  wish = new DutyWish({ kept, setDuty, isLive: () => false, ...listener }, () => 1);
});
afterEach(() => {
  wish.stop();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test('a wish that the service takes is confirmed', async () => {
  wish.want(OFF);
  expect([wish.wanted, keptSince]).toEqual([false, NOW]);
  await flush();
  expect([wish.wanted, keptSince, told]).toEqual([null, null, ['off duty']]);
});

test('a wish that the service refuses is dropped, and not sent again', async () => {
  setDuty.mockResolvedValue({ kind: 'refused' });
  wish.want(OFF);
  await vi.advanceTimersByTimeAsync(120_000);
  expect([wish.wanted, keptSince, told, sent()]).toEqual([null, null, ['dropped'], [OFF]]);
});

test.each([
  ['that is over is dropped', until(-1), ['dropped'], [until(-1)]],
  ['that lies ahead is sent without it', until(3_600_000), ['on duty'], [until(3_600_000), ON]],
])('a wish whose end is refused and %s', async (_what, wanted, said, asked) => {
  setDuty.mockResolvedValueOnce({ kind: 'refused' });
  wish.want(wanted);
  await flush();
  expect([wish.wanted, told, sent()]).toEqual([null, said, asked]);
});

test('a wish that fails is tried again with growing pauses of at most 30 s, and at once where asked', async () => {
  setDuty.mockResolvedValue({ kind: 'failed' });
  wish.want(OFF);
  const triedAt: number[] = [];
  setDuty.mockImplementation(async () => {
    triedAt.push((Date.now() - NOW) / 1_000);
    return { kind: 'failed' };
  });
  await vi.advanceTimersByTimeAsync(130_000);
  expect(triedAt).toEqual([1, 3, 7, 15, 31, 61, 91, 121]);
  setDuty.mockResolvedValue({ kind: 'ok', value: {} });
  wish.send();
  await flush();
  expect(told).toEqual(['off duty']);
});

test('a wish to go on duty is dropped after six hours', async () => {
  setDuty.mockResolvedValue({ kind: 'failed' });
  wish.want(ON);
  await vi.advanceTimersByTimeAsync(6 * 3_600_000 + 60_000);
  expect([wish.wanted, told]).toEqual([null, ['dropped']]);
});

test('one to go off duty that is older, by the next page too, waits until the phone is the driver’s', async () => {
  const kept = { offDutySinceMs: () => NOW - 6 * 3_600_000 - 1, keepOffDutySince: () => {} };
  let isLive = false;
  const next = new DutyWish({ kept, setDuty, isLive: () => isLive, taken() {}, dropped() {}, signedOut() {} });
  next.send();
  expect([next.wanted, sent()]).toEqual([false, []]);
  isLive = true;
  next.send();
  expect(sent()).toEqual([OFF]);
  next.stop();
});

test('a wish that is made while another is refused is sent', async () => {
  setDuty.mockResolvedValueOnce({ kind: 'refused' });
  wish.want(ON);
  wish.want(OFF);
  await flush();
  expect([told, sent()]).toEqual([['off duty'], [ON, OFF]]);
});

test.each([
  [400, 'refused'],
  [409, 'refused'],
  [429, 'failed'],
  [503, 'failed'],
])('the service’s %i to a duty means that it is %s', async (status, kind) => {
  vi.stubGlobal('fetch', async () => Response.json({ success: false, message: 'No.' }, { status }));
  expect(await new DriverApi('sdd_any').setDuty(ON)).toEqual({ kind });
});
