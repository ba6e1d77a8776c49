import { expect, it } from 'vitest';
import { bestRoute, type CarriedOrder, type Start } from '../../src/domain/route.ts';
import { MAX_SHOWN_ROUTES, shownRoute } from '../../src/domain/shown-route.ts';
import { displaced } from '../geo/places.ts';
import { carrying } from '../matcher/carrying.ts';

const NOW = 1_700_000_000_000;
const STORE = { lat: 40.73, lng: -73.99 };
const START: Start = { from: STORE, atMs: NOW, vehicle: 'car' };
const orders = (changes: Partial<CarriedOrder> = {}): CarriedOrder[] => [
  carrying('near', { pickup: STORE, dropoff: displaced(STORE, 1_000, 0), readyAtMs: NOW + 300_000 }),
  carrying('far', { pickup: STORE, dropoff: displaced(STORE, 2_000, 0), readyAtMs: NOW + 300_000, ...changes }),
];

it('is planned once a second of the same position, vehicle and orders', () => {
  const first = shownRoute(START, orders());
  expect(first).toEqual({ atMs: NOW, stops: bestRoute(START, orders()).stops });
  expect(shownRoute({ ...START, atMs: NOW + 1_000 }, orders())).toBe(first);
  const later = { ...START, atMs: NOW + 1_001 };
  expect(shownRoute(later, orders())).toEqual({ atMs: later.atMs, stops: bestRoute(later, orders()).stops });
});

it('follows every change at once', () => {
  const first = shownRoute(START, orders());
  const others: [Start, CarriedOrder[]][] = [
    [{ ...START, from: displaced(STORE, 1, 0) }, orders()],
    [{ ...START, vehicle: 'bike' }, orders()],
    [START, orders({ step: 'on_board' })],
    [START, orders().slice(1)],
  ];
  for (const [start, carried] of others) {
    const route = shownRoute(start, carried);
    expect(route).not.toBe(first);
    expect(route.stops).toEqual(bestRoute(start, carried).stops);
  }
});

it('is kept for a bounded number of drivers, those planned last', () => {
  const start = { ...START, atMs: NOW + 3_600_000 };
  const first = shownRoute(start, orders());
  for (let index = 1; index < MAX_SHOWN_ROUTES; index++) shownRoute(start, [carrying(String(index))]);
  expect(shownRoute(start, orders())).toBe(first);
  shownRoute(start, [carrying('one more')]);
  expect(shownRoute(start, orders())).not.toBe(first);
});
