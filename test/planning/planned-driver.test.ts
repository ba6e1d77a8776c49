import { describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { CarriedOrder } from '../../src/domain/route.ts';
import { METERS_PER_MINUTE } from '../../src/domain/vehicle.ts';
import { DOOR_STOP_MS, POSITION_FRESH_MS, STORE_STOP_MS } from '../../src/limits.ts';
import { plannedDriver } from '../../src/planning/planned-driver.ts';
import { carrying, freeDriver } from '../matcher/carrying.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const STORE = { lat: 40.73, lng: -73.99 };
const DOOR = { lat: 40.74, lng: -73.99 };
const FAR_DOOR = { lat: 40.75, lng: -73.99 };

const driver = (carried: readonly CarriedOrder[], changes: Partial<FleetDriver> = {}): FleetDriver =>
  freeDriver('d', STORE, NOW, { carried, capacity: 3, ...changes });
const parcel = (orderId: string, changes: Partial<CarriedOrder> = {}) =>
  carrying(orderId, { pickup: STORE, dropoff: DOOR, ...changes });
const toldOf = (planned: ReturnType<typeof plannedDriver>) =>
  planned?.told.map(({ kind, order }) => `${kind} ${order.id}`);

describe('a driver for the planner', () => {
  it('who carries nothing is free now, where they are, until they go home', () => {
    expect(plannedDriver(driver([], { vehicle: 'bike', onDutyUntilMs: NOW + MINUTE }), NOW)).toEqual({
      id: 'd',
      place: STORE,
      freeAtMs: NOW,
      isPickingUp: false,
      onDutyMs: 0,
      offDutyMs: NOW + MINUTE,
      room: 3,
      spare: 3,
      metersPerMinute: METERS_PER_MINUTE.bike,
      told: [],
    });
  });

  it('has no room beside an order in a slot beyond a capacity that was lowered', () => {
    const roomOf = (slot: number) => plannedDriver(driver([parcel('o', { slot })], { capacity: 2 }), NOW)?.room;
    expect([roomOf(1), roomOf(2)]).toEqual([2, 1]);
  });

  it('is none while off duty, silent, or on the way to a door that nobody knows', () => {
    expect(plannedDriver(driver([], { onDuty: false }), NOW)).toBeNull();
    expect(plannedDriver(driver([], { position: null }), NOW)).toBeNull();
    const silent = { ...STORE, atMs: NOW - POSITION_FRESH_MS - 1 };
    expect(plannedDriver(driver([], { position: silent }), NOW)).toBeNull();
    expect(plannedDriver(driver([parcel('o', { dropoff: null })]), NOW)).toBeNull();
  });

  it('is free at the store they go to, once the parcel is ready, and was told of what follows', () => {
    const readyAtMs = NOW + 30 * MINUTE;
    const planned = plannedDriver(driver([parcel('o', { readyAtMs })]), NOW);
    expect(planned).toMatchObject({ place: STORE, freeAtMs: readyAtMs, isPickingUp: true });
    expect(toldOf(planned)).toEqual(['dropoff o']);
    expect(plannedDriver(driver([parcel('o')]), NOW)?.freeAtMs).toBe(NOW + STORE_STOP_MS);
  });

  it('is free at the next door, with the other parcels still on board', () => {
    const near = parcel('near', { step: 'on_board' });
    const far = parcel('far', { step: 'on_board', dropoff: FAR_DOOR, slot: 1 });
    const planned = plannedDriver(driver([far, near], { position: { ...DOOR, atMs: NOW } }), NOW);
    expect(planned).toMatchObject({ place: DOOR, freeAtMs: NOW + DOOR_STOP_MS, isPickingUp: false });
    expect(toldOf(planned)).toEqual(['dropoff far']);
  });

  it('brings a parcel that nobody took back to its store, as one more handover', () => {
    const near = parcel('near', { step: 'on_board' });
    const back = parcel('back', { step: 'returning', slot: 1 });
    const planned = plannedDriver(driver([near, back], { position: { ...DOOR, atMs: NOW } }), NOW);
    expect(toldOf(planned)).toEqual(['dropoff back']);
    expect(planned?.told[0]?.order.dropoff).toEqual(STORE);
  });
});
