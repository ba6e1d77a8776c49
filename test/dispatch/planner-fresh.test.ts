import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { CarriedOrder } from '../../src/domain/route.ts';
import { PLANNER_LOOK_MS, POSITION_FRESH_MS } from '../../src/limits.ts';
import type { WaitingOrder } from '../../src/matcher/matcher.ts';
import { PLANNER_PASS_MS } from '../../src/planning/planned-drivers.ts';
import { carrying } from '../matcher/carrying.ts';
import { DOOR, driver, MINUTE, order, PlannedWorld, pass, STORE } from './planned-world.ts';

const HUNDRED_KM_AWAY = { lat: STORE.lat + 0.9, lng: STORE.lng };

let world: PlannedWorld;
beforeEach(async () => {
  world = await PlannedWorld.open();
});
afterEach(() => world.close());

const at = (place: { readonly lat: number; readonly lng: number }) => ({ ...place, atMs: Date.now() });

/** Has drivers report where they are, every ten seconds for some time. */
async function report(places: Readonly<Record<string, { readonly lat: number; readonly lng: number }>>, ms: number) {
  for (const endMs = Date.now() + ms; Date.now() < endMs; ) {
    for (const [id, place] of Object.entries(places)) world.matcher.moveDriver(id, place, Date.now());
    await pass(10_000);
  }
}

/** An order is planned for a driver at the store and cancelled, so that nothing waits. */
async function planInVain(): Promise<void> {
  world.matcher.putDriver(driver('d', { position: at(STORE) }));
  world.matcher.wait(order('cancelled', { readyAtMs: Date.now() + 8 * MINUTE }));
  await pass(2 * PLANNER_LOOK_MS);
  expect(world.noted.at(-1)).toMatchObject({ orderId: 'cancelled', driverId: 'd' });
  world.matcher.unwait('cancelled');
  await pass(2 * PLANNER_LOOK_MS);
}

describe('after a quiet spell', () => {
  it('gives nothing to a driver who drove away meanwhile', async () => {
    await planInVain();
    await report({ d: HUNDRED_KM_AWAY }, 2 * MINUTE);
    world.matcher.wait(order('o'));
    await report({ d: HUNDRED_KM_AWAY }, MINUTE);
    expect(world.gave()).toEqual([]);
    await report({ d: STORE }, 2 * PLANNER_PASS_MS);
    expect(world.gave()).toEqual(['o to d']);
  });

  it('gives nothing to a driver who fell silent meanwhile', async () => {
    await planInVain();
    await pass(POSITION_FRESH_MS + 5_000);
    world.matcher.wait(order('o'));
    await pass(MINUTE);
    expect(world.gave()).toEqual([]);
    await report({ d: STORE }, 2 * PLANNER_PASS_MS);
    expect(world.gave()).toEqual(['o to d']);
  });
});

it('plans anew within a second what is meant for a driver who falls silent or drives away', async () => {
  const far = { lat: STORE.lat + 0.02, lng: STORE.lng };
  world.matcher.putDriver(driver('near', { position: at(STORE) }));
  world.matcher.putDriver(driver('far', { position: { ...far, atMs: Date.now() + 1_000 * MINUTE } }));
  world.matcher.wait(order('o', { readyAtMs: Date.now() + 60 * MINUTE }));
  await pass(2 * PLANNER_LOOK_MS);
  expect(world.noted.at(-1)).toMatchObject({ driverId: 'near' });
  await pass(POSITION_FRESH_MS);
  expect(world.noted.at(-1)).toMatchObject({ driverId: 'far' });
  world.matcher.moveDriver('near', STORE, Date.now());
  await pass(2 * PLANNER_PASS_MS);
  expect(world.noted.at(-1)).toMatchObject({ driverId: 'near' });
  world.matcher.moveDriver('near', HUNDRED_KM_AWAY, Date.now());
  await pass(2 * PLANNER_LOOK_MS);
  expect(world.noted.at(-1)).toMatchObject({ driverId: 'far' });
});

describe('a driver who can no longer carry what is planned for them', () => {
  const away = { ...STORE, lat: STORE.lat + 0.015 };
  const later = () => order('o', { size: 'large', readyAtMs: Date.now() + 40 * MINUTE });

  async function planned(changes: Partial<FleetDriver>, ...others: WaitingOrder[]): Promise<void> {
    world.matcher.putDriver(driver('d', { vehicle: 'van' }));
    world.matcher.putDriver(
      driver('other', { vehicle: 'van', position: { ...away, atMs: Date.now() + 1_000 * MINUTE } }),
    );
    for (const each of [later(), ...others]) world.matcher.wait(each);
    await pass(2 * PLANNER_LOOK_MS);
    expect(world.noted.findLast(({ orderId }) => orderId === 'o')).toMatchObject({ driverId: 'd' });
    world.matcher.putDriver(driver('d', { vehicle: 'van', ...changes }));
    await pass(2 * PLANNER_LOOK_MS);
  }

  it.each<[string, Partial<FleetDriver>]>([
    ['whose van became a car', { vehicle: 'car' }],
    ['who serves the tier no more', { tierIds: ['priority'] }],
  ])('loses it to another: one %s', async (_, changes) => {
    await planned(changes);
    expect(world.noted.at(-1)).toMatchObject({ orderId: 'o', driverId: 'other' });
    await pass(60 * MINUTE);
    expect(world.gave()).toEqual(['o to other']);
  });

  it('loses it though they stay in reach of another order', async () => {
    await planned({ vehicle: 'car' }, order('small', { readyAtMs: Date.now() + 60 * MINUTE }));
    expect(world.noted.findLast(({ orderId }) => orderId === 'o')).toMatchObject({ driverId: 'other' });
  });
});

describe('a driver who stands still', () => {
  const door = { lat: STORE.lat + 300 / 111_195, lng: STORE.lng };
  const parcel = { ...carrying('on board'), step: 'on_board' as const, pickup: STORE, dropoff: door };
  const toFetch = { ...parcel, step: 'to_fetch' as const };
  const returning = { ...parcel, step: 'returning' as const };
  const second = { ...parcel, orderId: 'second', slot: 1, dropoff: { lat: door.lat + 0.0005, lng: door.lng } };

  it.each<[what: string, km: number, carried: CarriedOrder[]]>([
    ['a parcel on board', 1, [parcel]],
    ['a parcel on board', 3, [parcel]],
    ['a parcel on board', 7, [parcel]],
    ['a parcel to fetch', 3, [toFetch]],
    ['a parcel to bring back', 3, [returning]],
    ['two parcels on board', 7, [parcel, second]],
  ])('with %s holds up no order for which another one is free %i km away', async (_, km, parcels) => {
    const carried = parcels.map((each) => ({ ...each, deliverByMs: Date.now() }));
    world.matcher.putDriver(driver('still', { position: at(door), carried, capacity: carried.length }));
    world.matcher.wait(order('o'));
    await report({ still: door }, 2 * MINUTE);
    expect(world.noted.at(-1)).toMatchObject({ orderId: 'o', driverId: 'still' });
    const place = { lat: STORE.lat + km / 111.195, lng: STORE.lng };
    world.matcher.putDriver(driver('free', { position: at(place) }));
    await report({ still: door, free: place }, (5 + 4 * km) * MINUTE);
    expect(world.gave()).toEqual(['o to free']);
  });

  it('at a store, with room, is given what more is fetched there, however long they have stood', async () => {
    const standing = { position: at(STORE), carried: [{ ...toFetch, deliverByMs: Date.now() + 60 * MINUTE }] };
    world.matcher.putDriver(driver('still', standing));
    world.matcher.wait(order('o'));
    await report({ still: STORE }, 12 * MINUTE);
    expect(world.gave()).toEqual([]);
    const near = { lat: STORE.lat + 0.3 / 111.195, lng: STORE.lng };
    world.matcher.putDriver(driver('still', { ...standing, position: at(near), capacity: 2 }));
    await report({ still: near }, MINUTE);
    expect(world.gave()).toEqual([]);
    world.matcher.putDriver(driver('still', { ...standing, position: at(STORE), capacity: 2 }));
    await report({ still: STORE }, MINUTE);
    expect(world.gave()).toEqual(['o to still']);
  });

  it('is trusted while they make way', async () => {
    const far = { lat: STORE.lat + 0.05, lng: STORE.lng };
    const parcel = { ...carrying('on board'), step: 'on_board' as const, pickup: STORE, dropoff: STORE };
    world.matcher.putDriver(
      driver('driving', { position: at(far), carried: [{ ...parcel, deliverByMs: Date.now() }] }),
    );
    world.matcher.putDriver(
      driver('farther', { position: { ...HUNDRED_KM_AWAY, lat: STORE.lat + 0.14, atMs: Date.now() } }),
    );
    world.matcher.wait(order('o', { dropoff: DOOR }));
    for (let i = 20; i > 0; i--) {
      const place = { lat: STORE.lat + (0.05 * i) / 20, lng: STORE.lng };
      await report({ driving: place, farther: { lat: STORE.lat + 0.14, lng: STORE.lng } }, 40_000);
    }
    expect(world.gave()).toEqual([]);
  });
});

describe('a driver whom the gate refuses', () => {
  const away = { ...STORE, lat: STORE.lat + 0.015 };

  it.each(['a waiting order', 'an order for later'])('has %s go to another at once', async (which) => {
    const readyAtMs = Date.now() + 10 * MINUTE;
    // The way over roads is quicker than by the gate's reckoning, so that only the planner sees them back in time.
    world.travelFactor = 0.1;
    world.matcher.putDriver(driver('short', { onDutyUntilMs: Date.now() + 14 * MINUTE }));
    world.matcher.putDriver(driver('long', { position: { ...away, atMs: Date.now() + 1_000 * MINUTE } }));
    const far = { ...STORE, lat: STORE.lat + 0.06 };
    const later = which === 'a waiting order' ? {} : { dueMs: readyAtMs, sinceMs: readyAtMs };
    world.matcher.wait(order('o', { readyAtMs, dropoff: far, ...later }));
    await pass(11 * MINUTE);
    expect(world.gave()).toContain('o to short');
    expect(world.gave().at(-1)).toBe('o to long');
    expect(world.given.length).toBeLessThan(20);
    expect(world.matcher.holderOf('o')).toBe('long');
  });
});

describe('a door that is found late', () => {
  const readyAtMs = () => Date.now() + 40 * MINUTE;
  const near = { lat: STORE.lat + 0.01, lng: STORE.lng };
  const far = { lat: STORE.lat + 0.08, lng: STORE.lng };
  const doorMs = (orderId: string) => world.noted.findLast((plan) => plan.orderId === orderId)?.doorMs ?? 0;

  it('moves the time that is told from that of the centre of its ZIP', async () => {
    world.matcher.putDriver(driver('d'));
    const placed = order('o', { readyAtMs: readyAtMs(), dropoff: far });
    world.matcher.wait(placed);
    await pass(2 * PLANNER_LOOK_MS);
    const atCentre = doorMs('o');
    world.matcher.wait({ ...placed, dropoff: near });
    await pass(2 * PLANNER_LOOK_MS);
    // The way to the centre alone is 8 km longer.
    expect(atCentre - doorMs('o')).toBeGreaterThan(10 * MINUTE);
  });

  it('makes an order of an unknown ZIP the planner’s', async () => {
    world.matcher.putDriver(driver('d'));
    const placed = order('o', { readyAtMs: readyAtMs(), dropoff: null });
    world.matcher.wait(placed);
    await pass(2 * PLANNER_PASS_MS);
    expect(world.noted).toEqual([]);
    world.matcher.wait({ ...placed, dropoff: near });
    await pass(2 * PLANNER_LOOK_MS);
    expect(world.noted.at(-1)).toMatchObject({ orderId: 'o', driverId: 'd' });
  });

  it('keeps two doors of one ZIP apart', async () => {
    world.matcher.putDriver(driver('d', { capacity: 2 }));
    const placed = ['one', 'other'].map((id) => order(id, { readyAtMs: readyAtMs(), dropoff: far }));
    for (const each of placed) world.matcher.wait(each);
    await pass(2 * PLANNER_LOOK_MS);
    const apart = () => Math.abs(doorMs('one') - doorMs('other'));
    const atCentre = apart();
    for (const each of placed) world.matcher.wait({ ...each, dropoff: each.orderId === 'one' ? near : far });
    await pass(2 * PLANNER_LOOK_MS);
    expect(apart() - atCentre).toBeGreaterThan(8 * MINUTE);
  });
});
