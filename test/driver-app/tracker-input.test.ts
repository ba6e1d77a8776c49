import { describe, expect, test } from 'vitest';
import { readTracked } from '../../src/driver-app/tracker-input.ts';

const ID = `drp_${'a'.repeat(32)}`;
const AT_MS = Date.UTC(2026, 10, 22, 13, 41, 5);
/** A time in whole seconds, which may be any moment of its second. */
const END_MS = AT_MS + 999;
const HERE = { lat: 37.76415, lng: -122.41957 };
const FORM = 'application/x-www-form-urlencoded';

function read(parts: { query?: object; type?: string; body?: string }) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parts.query ?? {})) query.set(name, String(value));
  const head = { query, header: (name: string) => (name === 'content-type' ? parts.type : undefined) };
  return readTracked(head, Buffer.from(parts.body ?? ''));
}
const position = { id: ID, lat: HERE.lat, lon: HERE.lng };
const taken = (capturedAtMs?: number, accuracyMeters?: number) => ({
  secret: ID,
  location: { ...HERE, accuracyMeters, capturedAtMs },
});

/** As version 9 of the app writes it. */
const jsonOf = (coords: object, timestamp: unknown = new Date(AT_MS).toISOString()) => ({
  type: 'application/json; charset=utf-8',
  body: JSON.stringify({ location: { timestamp, coords, is_moving: true, extras: {}, _: '&id=x&' }, device_id: ID }),
});

describe('a position of Traccar Client', () => {
  test('is read of the query that versions before 9 post without a body', () => {
    const query = { ...position, timestamp: AT_MS / 1_000, speed: 2.1, bearing: 90, accuracy: 12.5, batt: 80 };
    expect(read({ query })).toEqual(taken(END_MS, 12.5));
    expect(read({ query, type: FORM })).toEqual(taken(END_MS, 12.5));
  });

  test('is read of the form that versions from 10 on post', () => {
    const body = new URLSearchParams({ id: ID, lat: '37.76415', lon: '-122.41957', timestamp: String(AT_MS / 1_000) });
    expect(read({ type: `${FORM}; charset=UTF-8`, body: String(body) })).toEqual(taken(END_MS));
  });

  test('is read of the JSON that version 9 posts', () => {
    const coords = { latitude: HERE.lat, longitude: HERE.lng, accuracy: 5, speed: -1, heading: -1, altitude: 3 };
    expect(read(jsonOf(coords))).toEqual(taken(AT_MS, 5));
    expect(read(jsonOf({ ...coords, accuracy: -1 }))).toEqual(taken(AT_MS));
  });

  test.each([
    ['whole seconds, as the end of its second', AT_MS / 1_000, END_MS],
    ['milliseconds', AT_MS, AT_MS],
    ['ISO 8601', '2026-11-22T13:41:05.000Z', AT_MS],
    ['ISO 8601 in whole seconds with an offset', '2026-11-22T05:41:05-08:00', END_MS],
    ['ISO 8601 with an offset as iPhones write it', '2026-11-22T05:41:05.000-0800', AT_MS],
  ])('has a time in %s', (_form, timestamp, atMs) => {
    expect(read({ query: { ...position, timestamp } })).toEqual(taken(atMs));
  });

  test('without a time counts as of now', () => {
    expect(read({ query: position })).toEqual(taken());
  });

  test.each<[string, object]>([
    ['no point, as of a phone that has no fix', { lat: '' }],
    ['a latitude off the globe', { lat: 91 }],
    ['text for a point', { lon: 'here' }],
    ['an accuracy beyond every phone', { accuracy: 1e9 }],
    ['a time that is none', { timestamp: 'yesterday' }],
    ['a day that is none', { timestamp: '2026-02-30T12:00:00Z' }],
    ['a time beyond the calendar', { timestamp: '999999999999999' }],
    ['the word that it is of no use', { valid: 'false' }],
  ])('is of no use with %s, and still says whose it is', (_what, changes) => {
    expect(read({ query: { ...position, ...changes } })).toEqual({ secret: ID, location: null });
  });

  test.each<[string, Parameters<typeof read>[0]]>([
    ['nothing', {}],
    ['JSON that is none', { type: 'application/json', body: '{' }],
    ['a list of positions', { type: 'application/json', body: JSON.stringify([position]) }],
    ['an id that is no text', { type: 'application/json', body: '{"device_id": 5}' }],
    ['a form of other bytes', { type: FORM, body: '\u0000\xff&&==' }],
  ])('is nobody’s in %s', (_what, parts) => {
    expect(read(parts)).toEqual({ secret: null, location: null });
  });

  test('in JSON without coordinates is of no use', () => {
    expect(read({ type: 'application/json', body: JSON.stringify({ device_id: ID, location: [] }) })).toEqual({
      secret: ID,
      location: null,
    });
    expect(read(jsonOf({ latitude: '37', longitude: 1 }))).toEqual({ secret: ID, location: null });
    expect(read(jsonOf({ latitude: 37, longitude: 1 }, 5))).toEqual({ secret: ID, location: null });
  });
});
