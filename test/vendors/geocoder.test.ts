import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { GEOCODER_FOUND_MS, GEOCODER_NOT_FOUND_MS, MAX_GEOCODER_REQUESTS } from '../../src/limits.ts';
import { createGeocoder } from '../../src/vendors/geocoder.ts';

const PLACE = { lat: '40.7484', lon: '-73.9857', boundingbox: ['40.7480', '40.7488', '-73.9865', '-73.9849'] };

/** A time-out that is long enough for a busy machine. */
async function world(answer: (request: IncomingMessage, response: ServerResponse) => void, timeoutMs = 10_000) {
  const asked: URL[] = [];
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://geocoder'));
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const clock = { ms: 0 };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/?key=secret`;
  return {
    asked,
    clock,
    geocoder: createGeocoder({ url, timeoutMs, maxRemembered: 3, now: () => clock.ms }),
    url,
  };
}

const found = (_request: IncomingMessage, response: ServerResponse) => response.end(JSON.stringify([PLACE]));
const nothing = (_request: IncomingMessage, response: ServerResponse) => response.end('[]');

test('asks as Nominatim expects it and finds the place with its accuracy', async () => {
  const { geocoder, asked } = await world(found);
  const answer = await geocoder.geocode('350 5th Ave, New York & more');
  expect(answer).toEqual({
    kind: 'found',
    point: { lat: 40.7484, lng: -73.9857 },
    accuracyMeters: expect.toSatisfy((meters: number) => meters > 60 && meters < 100),
  });
  expect(asked[0]?.pathname).toBe('/base/search');
  expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({
    key: 'secret',
    format: 'jsonv2',
    limit: '1',
    q: '350 5th Ave, New York & more',
  });
});

test('finds a place without a bounding box, its numbers as numbers', async () => {
  const { geocoder } = await world((_request, response) => response.end('[{"lat": 1.5, "lon": -2}]'));
  expect(await geocoder.geocode('a')).toEqual({ kind: 'found', point: { lat: 1.5, lng: -2 } });
});

test.each([
  ['found', found, GEOCODER_FOUND_MS],
  ['not_found', nothing, GEOCODER_NOT_FOUND_MS],
] as const)('remembers %s for its time and then asks again', async (kind, answer, lifeMs) => {
  const { geocoder, asked, clock } = await world(answer);
  expect(await geocoder.geocode('a')).toMatchObject({ kind });
  clock.ms = lifeMs - 1;
  expect(await geocoder.geocode('a')).toMatchObject({ kind });
  expect(asked).toHaveLength(1);
  clock.ms = lifeMs;
  expect(await geocoder.geocode('a')).toMatchObject({ kind });
  expect(asked).toHaveLength(2);
});

test.each([
  ['an error', (_: IncomingMessage, response: ServerResponse) => response.writeHead(500).end('[]')],
  ['no JSON', (_: IncomingMessage, response: ServerResponse) => response.end('<html>')],
  ['no list', (_: IncomingMessage, response: ServerResponse) => response.end('{"error": "key"}')],
  ['no place', (_: IncomingMessage, response: ServerResponse) => response.end('[{"lat": "91", "lon": "0"}]')],
  ['an empty place', (_: IncomingMessage, response: ServerResponse) => response.end('[{"lat": "", "lon": null}]')],
  ['null', (_: IncomingMessage, response: ServerResponse) => response.end('[null]')],
  ['too much', (_: IncomingMessage, response: ServerResponse) => response.end(`["${'x'.repeat(2_000_000)}"]`)],
  ['a reset', (request: IncomingMessage) => request.socket.resetAndDestroy()],
  ['silence', () => {}],
  [
    'half an answer',
    (_: IncomingMessage, response: ServerResponse) => {
      response.write('[');
    },
  ],
])('%s is unavailable, within the time-out, and not remembered', async (_name, answer) => {
  const { geocoder, asked } = await world(answer, 300);
  const startedMs = performance.now();
  expect(await geocoder.geocode('a')).toEqual({ kind: 'unavailable' });
  expect(performance.now() - startedMs).toBeLessThan(2_000);
  expect(await geocoder.geocode('a')).toEqual({ kind: 'unavailable' });
  expect(asked).toHaveLength(2);
});

test('asks once for an address that many ask for at the same time', async () => {
  const { geocoder, asked } = await world(found);
  const answers = await Promise.all(Array.from({ length: 50 }, () => geocoder.geocode('a')));
  expect(answers.every(({ kind }) => kind === 'found')).toBe(true);
  expect(asked).toHaveLength(1);
});

test('has a bounded number of questions open and answers the rest at once', async () => {
  const { geocoder } = await world(found);
  const answers = await Promise.all(
    Array.from({ length: MAX_GEOCODER_REQUESTS + 3 }, (_, n) => geocoder.geocode(`${n}`)),
  );
  expect(answers.filter(({ kind }) => kind === 'unavailable')).toHaveLength(3);
  expect(await geocoder.geocode('later')).toMatchObject({ kind: 'found' });
});

test('forgets what was asked for least recently when its memory is full', async () => {
  const { geocoder, asked } = await world(nothing);
  for (const text of ['first', 'second', 'third', 'first', 'fourth']) await geocoder.geocode(text);
  expect(asked).toHaveLength(4);
  await geocoder.geocode('first');
  expect(asked).toHaveLength(4);
  await geocoder.geocode('second');
  expect(asked).toHaveLength(5);
});

test('a server that is not there is unavailable', async () => {
  const geocoder = createGeocoder({ url: 'http://127.0.0.1:1', timeoutMs: 300 });
  expect(await geocoder.geocode('a')).toEqual({ kind: 'unavailable' });
});
