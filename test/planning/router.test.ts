import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ROAD_TABLE_PLACES } from '../../src/limits.ts';
import { createRouter } from '../../src/planning/router.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A time-out that is long enough for a busy machine. */
async function world(answer: Answer, timeoutMs = 10_000) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = (url: string) => createRouter({ url, timeoutMs });
  return { asked, base, open, router: open(base) };
}

const json =
  (body: unknown, status = 200): Answer =>
  (_request, response) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));

const PLACES = [
  { lat: 52.517037, lng: 13.38886 },
  { lat: 52.529407, lng: 13.397634 },
  { lat: -1e-7, lng: 13.428555 },
];
const TABLE = { places: PLACES, sources: [0], destinations: [1, 2] };

test('asks as OSRM expects it, and reads seconds and the lack of a road', async () => {
  const { asked, router } = await world(json({ code: 'Ok', durations: [[61.5, null]], sources: [], destinations: [] }));
  expect(await router.table(TABLE)).toEqual({ kind: 'found', durationsMs: [[61_500, null]] });
  expect(asked).toEqual([
    '/table/v1/driving/13.38886,52.51704;13.39763,52.52941;13.42855,-0.00000?sources=0&destinations=1;2',
  ]);
});

test('keeps the path and the query of the address', async () => {
  const { asked, base, open } = await world(json({ code: 'Ok', durations: [[0, 1]] }));
  expect((await open(`${base}/osrm/?key=secret`).table(TABLE)).kind).toBe('found');
  expect(asked[0]).toMatch(/^\/osrm\/table\/v1\/driving\/[^?]+\?key=secret&sources=0&destinations=1;2$/);
});

test('the longest table has an address that any server takes', async () => {
  const { asked, router } = await world(json({ code: 'Ok', durations: [] }));
  const places = Array.from({ length: ROAD_TABLE_PLACES }, () => ({ lat: -52.517037, lng: -113.38886 }));
  const all = places.map((_, index) => index);
  await router.table({ places, sources: all, destinations: all });
  expect(asked[0]?.length).toBeLessThan(4_096);
});

test.each<[string, Answer]>([
  ['500', json({ code: 'InternalError' }, 500)],
  ['404', json({ code: 'InvalidService' }, 404)],
  ['429', json({ code: 'Ok', durations: [[1, 2]] }, 429)],
  ['no JSON', (_, response) => response.end('<html>')],
  ['null', json(null)],
  ['another code', json({ code: 'NoTable', durations: [[1, 2]] })],
  ['no durations', json({ code: 'Ok' })],
  ['a row too few', json({ code: 'Ok', durations: [] })],
  ['a column too few', json({ code: 'Ok', durations: [[1]] })],
  ['a row that is none', json({ code: 'Ok', durations: [null] })],
  ['a time below 0', json({ code: 'Ok', durations: [[1, -1]] })],
  ['a time as text', json({ code: 'Ok', durations: [[1, '2']] })],
  ['an endless time', (_, response) => response.end('{"code": "Ok", "durations": [[1, 1e999]]}')],
  ['too much', (_, response) => response.end(`{"code": "Ok", "durations": [[1, ${'2'.repeat(2_000_000)}]]}`)],
  ['a reset', (request) => request.socket.resetAndDestroy()],
])('%s is no answer', async (_name, answer) => {
  const { router } = await world(answer);
  expect(await router.table(TABLE)).toEqual({ kind: 'unavailable' });
});

test.each<[string, Answer]>([
  ['silence', () => {}],
  ['half an answer', (_, response) => void response.write('{"code": "Ok"')],
])('%s is no answer, within the time-out', async (_name, answer) => {
  const { router } = await world(answer, 300);
  expect(await router.table(TABLE)).toEqual({ kind: 'unavailable' });
});

test.each([400, 413, 414])('%i says that it does not take this table', async (status) => {
  const { router } = await world(json({ code: 'TooBig', message: 'Too many table coordinates' }, status));
  expect(await router.table(TABLE)).toEqual({ kind: 'refused' });
});

test('a server that is not there, and a close, end a call', async () => {
  expect(await createRouter({ url: 'http://127.0.0.1:1' }).table(TABLE)).toEqual({ kind: 'unavailable' });
  const { asked, router } = await world(() => {}, 60_000);
  const answer = router.table(TABLE);
  await expect.poll(() => asked.length).toBe(1);
  router.close();
  expect(await answer).toEqual({ kind: 'unavailable' });
});
