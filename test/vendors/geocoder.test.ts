import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { GEOCODER_ACCURACY_METERS } from '../../src/limits.ts';
import {
  createGeocoder,
  GEOCODER_FOUND_MS,
  GEOCODER_NOT_FOUND_MS,
  MAX_GEOCODER_REQUESTS,
  MAX_GEOCODER_WAITING_PER_STORE,
  PUBLIC_GEOCODER_PACE_MS,
} from '../../src/vendors/geocoder.ts';
import { listenInTest } from '../harness/closed-after-test.ts';
import { STEP_MS } from '../harness/patience.ts';

const PLACE = { lat: '40.7484', lon: '-73.9857', boundingbox: ['40.7480', '40.7488', '-73.9865', '-73.9849'] };

/** Long enough for what is asked to arrive. */
const SILENCE_MS = 1_500;

async function world(answer: RequestListener, timeoutMs = STEP_MS) {
  const asked: URL[] = [];
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://geocoder'));
    answer(request, response);
  });
  const clock = { ms: 0 };
  const url = `${(await listenInTest(server)).url}/base/?key=secret`;
  return {
    asked,
    clock,
    geocoder: createGeocoder({ url, timeoutMs, maxRemembered: 3, now: () => clock.ms }),
    url,
  };
}

const found: RequestListener = (_request, response) => response.end(JSON.stringify([PLACE]));
const nothing: RequestListener = (_request, response) => response.end('[]');

test('asks as Nominatim expects it and finds the place with its accuracy', async () => {
  const { geocoder, asked } = await world(found);
  const answer = await geocoder.geocode('350 5th Ave, New York & more', 'store');
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
    countrycodes: 'us,pr,vi,gu,as,mp,um,fm,mh,pw',
    q: '350 5th Ave, New York & more',
  });
});

test('finds a place without a bounding box, its numbers as numbers', async () => {
  const { geocoder } = await world((_request, response) => response.end('[{"lat": 1.5, "lon": -2}]'));
  expect(await geocoder.geocode('a', 'store')).toEqual({ kind: 'found', point: { lat: 1.5, lng: -2 } });
});

test('a flat is no part of what is asked, and all flats of a house are one answer', async () => {
  const { geocoder, asked } = await world(found);
  for (const line of ['350 5th Ave #4', '350 5th Ave, Apt. 12B', '350 5th Ave', '350 5th Ave, 2nd Floor']) {
    expect(await geocoder.geocode(`${line}, New York, NY 10118`, 'store')).toMatchObject({ kind: 'found' });
  }
  expect(asked.map((url) => url.searchParams.get('q'))).toEqual(['350 5th Ave, New York, NY 10118']);
});

test.each([
  ['a street', 26, GEOCODER_ACCURACY_METERS],
  ['a ZIP code', 21, GEOCODER_ACCURACY_METERS],
  ['a house', 30, 81],
])('%s is known as well as its kind can be, whatever its box', async (_name, rank, meters) => {
  const place = { ...PLACE, place_rank: rank };
  const { geocoder } = await world((_request, response) => response.end(JSON.stringify([place])));
  expect(await geocoder.geocode('a', 'store')).toMatchObject({ kind: 'found', accuracyMeters: meters });
});

test('the public Nominatim is asked once a second by all geocoders, which say who they are', async () => {
  vi.useFakeTimers();
  const asked: { q: string | null; agent: string | undefined }[] = [];
  vi.stubGlobal('fetch', async (url: URL, { headers }: { headers: Record<string, string> }) => {
    asked.push({ q: url.searchParams.get('q'), agent: headers['User-Agent'] });
    return new Response(JSON.stringify([PLACE]));
  });
  onTestFinished(async () => {
    // The process has one turn at the public geocoder, which the next test needs back.
    await vi.advanceTimersByTimeAsync(PUBLIC_GEOCODER_PACE_MS);
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const url = 'https://nominatim.openstreetmap.org';
  const contact = 'hilfe@b\u00fccher.example';
  const open = () => createGeocoder({ url, contact, timeoutMs: 10 * PUBLIC_GEOCODER_PACE_MS });
  const [one, other] = [open(), open()];
  const answers = [one.geocode('a', 'store'), other.geocode('b', 'store'), one.geocode('c', 'another')];
  const texts = () => asked.map(({ q }) => q);
  expect(await answers[0]).toMatchObject({ kind: 'found' });
  await vi.advanceTimersByTimeAsync(PUBLIC_GEOCODER_PACE_MS - 1);
  expect(texts()).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(1);
  expect(texts()).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(PUBLIC_GEOCODER_PACE_MS);
  expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(['found', 'found', 'found']);
  expect(new Set(asked.map(({ agent }) => agent))).toEqual(new Set(['sameday-dispatch (hilfe@b%C3%BCcher.example)']));
});

test.each([
  ['found', found, GEOCODER_FOUND_MS],
  ['not_found', nothing, GEOCODER_NOT_FOUND_MS],
] as const)('remembers %s for its time and then asks again', async (kind, answer, lifeMs) => {
  const { geocoder, asked, clock } = await world(answer);
  expect(await geocoder.geocode('a', 'store')).toMatchObject({ kind });
  clock.ms = lifeMs - 1;
  expect(await geocoder.geocode('a', 'store')).toMatchObject({ kind });
  expect(asked).toHaveLength(1);
  clock.ms = lifeMs;
  expect(await geocoder.geocode('a', 'store')).toMatchObject({ kind });
  expect(asked).toHaveLength(2);
});

test.each<[string, RequestListener]>([
  ['an error', (_, response) => response.writeHead(500).end('[]')],
  ['no JSON', (_, response) => response.end('<html>')],
  ['no list', (_, response) => response.end('{"error": "key"}')],
  ['no place', (_, response) => response.end('[{"lat": "91", "lon": "0"}]')],
  ['an empty place', (_, response) => response.end('[{"lat": "", "lon": null}]')],
  ['null', (_, response) => response.end('[null]')],
  ['too much', (_, response) => response.end(`["${'x'.repeat(2_000_000)}"]`)],
  ['a reset', (request) => request.socket.resetAndDestroy()],
  ['silence', () => {}],
  ['half an answer', (_, response) => void response.write('[')],
])('%s is unavailable, within the time-out, and not remembered', async (_name, answer) => {
  const { geocoder, asked } = await world(answer, SILENCE_MS);
  expect(await geocoder.geocode('a', 'store')).toEqual({ kind: 'unavailable' });
  expect(await geocoder.geocode('a', 'store')).toEqual({ kind: 'unavailable' });
  expect(asked).toHaveLength(2);
});

test('asks once for an address that many ask for at the same time', async () => {
  const { geocoder, asked } = await world(found);
  const answers = await Promise.all(Array.from({ length: 50 }, () => geocoder.geocode('a', 'store')));
  expect(answers.every(({ kind }) => kind === 'found')).toBe(true);
  expect(asked).toHaveLength(1);
});

/** A geocoder that answers nobody until the test lets all go. */
async function held() {
  const open = new Map<string, ServerResponse>();
  let isHeld = true;
  const { geocoder } = await world((request, response) => {
    if (!isHeld) return found(request, response);
    open.set(new URL(request.url ?? '', 'http://geocoder').searchParams.get('q') ?? '', response);
  });
  return {
    geocoder,
    openTexts: () => [...open.keys()],
    letGo() {
      isHeld = false;
      for (const response of open.values()) response.end(JSON.stringify([PLACE]));
    },
  };
}

test('a store that asks for more than its line holds is told so at once, the others are not', async () => {
  const { geocoder, openTexts, letGo } = await held();
  const room = MAX_GEOCODER_REQUESTS / 2 + MAX_GEOCODER_WAITING_PER_STORE;
  const flood = Array.from({ length: room }, (_, n) => geocoder.geocode(`invented ${n}`, 'flood'));
  expect(await geocoder.geocode('one more', 'flood')).toEqual({ kind: 'busy' });
  const other = geocoder.geocode('an address', 'other');
  await expect.poll(openTexts).toContain('an address');
  letGo();
  expect(await other).toMatchObject({ kind: 'found' });
  await Promise.all(flood);
});

test('an address whose turn comes after its time is unavailable, and found later', async () => {
  const { geocoder, openTexts, letGo } = await held();
  const flood = Array.from({ length: MAX_GEOCODER_REQUESTS / 2 }, (_, n) => geocoder.geocode(`invented ${n}`, 'store'));
  await expect.poll(openTexts).toHaveLength(flood.length);
  const late = geocoder.geocode('an address', 'store');
  // As where the process stood still, and the answers are read before the timers run.
  const { now } = performance;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 2 * STEP_MS);
  onTestFinished(() => void clock.mockRestore());
  letGo();
  expect(await late).toEqual({ kind: 'unavailable' });
  clock.mockRestore();
  expect(await geocoder.geocode('an address', 'store')).toMatchObject({ kind: 'found' });
  await Promise.all(flood);
});

test('the time-out includes the wait in line, half of it at most', async () => {
  const { geocoder, asked } = await world(() => {}, 2 * SILENCE_MS);
  const answers = await Promise.all(
    Array.from({ length: MAX_GEOCODER_REQUESTS }, (_, n) => geocoder.geocode(`${n}`, 'flood')),
  );
  const kinds = answers.map(({ kind }) => kind);
  const half = MAX_GEOCODER_REQUESTS / 2;
  expect(kinds).toEqual([...Array(half).fill('unavailable'), ...Array(half).fill('busy')]);
  expect(asked).toHaveLength(half);
});

test('invented addresses of one store push no answer of another one out of memory', async () => {
  const { geocoder, asked } = await world(nothing);
  await geocoder.geocode('mine', 'store');
  for (let n = 0; n < 20; n++) await geocoder.geocode(`invented ${n}`, 'flood');
  const before = asked.length;
  await geocoder.geocode('mine', 'store');
  expect(asked).toHaveLength(before);
  await geocoder.geocode('invented 0', 'flood');
  expect(asked).toHaveLength(before + 1);
});
