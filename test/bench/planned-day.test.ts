import { expect, it } from 'vitest';
import { PlannedDay } from '../harness/planned-day.ts';
import { at, driver, MINUTE_MS, order, RULES } from '../planner/brute-force.ts';

const minutes = (count: number) => count * MINUTE_MS;

it('tells the planner no sooner than at its time that a parcel is ready', () => {
  const late = { ...order('late', { readyMs: minutes(10) }), reallyReadyMs: minutes(60) };
  const times = { placedMs: minutes(20), readyMs: minutes(20), dueMs: minutes(200) };
  const next = order('next', { pickup: at(3_000, 0), dropoff: at(3_000, 2_000), ...times });
  const drivers = [driver('there'), driver('elsewhere', { place: at(-7_000, 0) })];
  const day = new PlannedDay({ orders: [late, next], drivers, rules: RULES, everyMs: MINUTE_MS });
  day.run(0, minutes(30));
  expect(day.toldMs.get('late')).toBeLessThan(minutes(11));
  // Who waits at the store may be free in a minute, as far as anybody knows.
  expect(day.planner.estimate('next')).toMatchObject({ driverId: 'there' });
  day.run(minutes(31), minutes(240));
  const pickups = day.deeds.filter(({ kind }) => kind === 'pickup').map((deed) => [deed.order?.id, deed.atMs]);
  expect(pickups[0]).toEqual(['late', minutes(60)]);
  expect(day.deeds.filter(({ kind }) => kind === 'dropoff')).toHaveLength(2);
});
