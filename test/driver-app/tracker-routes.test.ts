import { expect, test } from 'vitest';
import type { ReportOutcome } from '../../src/dispatch/positions.ts';
import { hashSecret, newId, newSecret } from '../../src/domain/ids.ts';
import { createDriverAllowances, DRIVER_MESSAGE_BURST } from '../../src/driver-app/allowance.ts';
import { MAX_PHONE_CALL_BYTES, TRACKER_PATH, trackerRoutes } from '../../src/driver-app/tracker-routes.ts';
import { startServer } from '../http/support.ts';

const driverId = newId();
const id = newSecret('tracker');

async function world(options: { wants?: boolean | null; outcome?: ReportOutcome; isAway?: boolean } = {}) {
  const { wants = true, outcome = 'taken', isAway = false } = options;
  const reported: unknown[] = [];
  const asked: string[] = [];
  const allowances = createDriverAllowances(() => 0);
  const { url, log } = await startServer({
    routes: trackerRoutes({
      trackers: {
        async find(hash) {
          asked.push(hash);
          if (isAway) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
          return hash === hashSecret(id) ? { driverId } : null;
        },
      },
      positions: {
        wants: () => wants,
        report(who, { lat, lng }) {
          reported.push([who, lat, lng]);
          return outcome;
        },
      },
      allowances,
    }),
  });
  async function send(query: Record<string, string>, init: RequestInit = { method: 'POST' }) {
    const reply = await fetch(`${url}${TRACKER_PATH}?${new URLSearchParams(query)}`, init);
    const body = (await reply.json()) as { taken?: boolean; error?: { code: string } };
    return [reply.status, body.taken ?? body.error?.code];
  }
  return { send, url, reported, asked, allowances, log };
}
const FIX = { id, lat: '37.7', lon: '-122.4' };

test('a position is taken of the driver whose device identifier it has, by any method of the app', async () => {
  const { send, reported } = await world();
  expect(await send(FIX)).toEqual([200, true]);
  expect(await send(FIX, { method: 'GET' })).toEqual([200, true]);
  expect(await send({}, { method: 'POST', body: new URLSearchParams(FIX) })).toEqual([200, true]);
  expect(reported).toEqual(Array(3).fill([driverId, 37.7, -122.4]));
});

test.each<[string, Parameters<typeof world>[0], Record<string, string>]>([
  ['older than a known one', { outcome: 'older' }, FIX],
  ['not needed, as the driver is off duty and carries nothing', { wants: false }, FIX],
  ['of no use', {}, { ...FIX, lat: '' }],
  ['of a phone without a fix', {}, { id }],
])('one that is %s is answered 200, so that the app goes on to its next', async (_what, options, query) => {
  const { send, reported } = await world(options);
  expect(await send(query)).toEqual([200, false]);
  expect(reported).toHaveLength(options?.outcome === 'older' ? 1 : 0);
});

test('an unknown identifier is 401, and without the form of one it costs no look-up', async () => {
  const { send, asked } = await world();
  const wrong = newSecret('tracker');
  expect(await send({ ...FIX, id: wrong })).toEqual([401, 'unauthorized']);
  expect(asked).toEqual([hashSecret(wrong)]);
  for (const other of ['', '1234', newSecret('driver_token')]) {
    expect(await send({ ...FIX, id: other })).toEqual([401, 'unauthorized']);
  }
  expect(await send({})).toEqual([401, 'unauthorized']);
  expect(asked).toHaveLength(1);
});

test('what may be better later is refused so that the app sends it again', async () => {
  expect(await (await world({ wants: null })).send(FIX)).toEqual([503, 'unavailable']);
  expect(await (await world({ outcome: 'unknown_driver' })).send(FIX)).toEqual([503, 'unavailable']);
  expect(await (await world({ isAway: true })).send(FIX)).toEqual([503, 'unavailable']);
});

test('a flood is 429, and takes nothing from the allowance of the page', async () => {
  const { send, allowances } = await world();
  for (let sent = 0; sent < DRIVER_MESSAGE_BURST; sent++) expect(await send(FIX)).toEqual([200, true]);
  expect(await send(FIX)).toEqual([429, 'rate_limited']);
  expect(allowances.messages.take(driverId)).toBe(true);
});

test('a large body, or one of another type, is refused', async () => {
  const { send } = await world();
  const large = { method: 'POST', body: new URLSearchParams({ id: 'x'.repeat(MAX_PHONE_CALL_BYTES) }) };
  expect(await send({}, large)).toEqual([413, 'payload_too_large']);
  const text = { method: 'POST', body: 'x', headers: { 'Content-Type': 'text/plain' } };
  expect(await send(FIX, text)).toEqual([415, 'unsupported_media_type']);
});
