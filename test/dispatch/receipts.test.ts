import { describe, expect, it } from 'vitest';
import { createReceipts, PROOF_POSITION_MS } from '../../src/dispatch/receipts.ts';
import type { JudgedStep, Place } from '../../src/domain/payout.ts';
import { PROOF_DROPOFF_METERS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { carrying } from '../matcher/carrying.ts';

const NOW = 1_700_000_000_000;
const HOUR = 3_600_000;
const DOOR = { lat: 40.73, lng: -73.99 };
const STORE = displaced(DOOR, 500, 0);
const KNOWN: Place = { point: DOOR, accuracyMeters: PROOF_DROPOFF_METERS };

type Changes = {
  readonly dropoff?: Place | null;
  readonly takenMs?: number;
  readonly capturedMs?: number;
  readonly placed?: boolean;
  /** The position in the table. */
  readonly written?: { readonly lat: number; readonly lng: number; readonly atMs: number } | null;
  readonly isKnown?: boolean;
};

/** The receipt of a step of a driver who is 34 m from the door, an hour after the assignment. */
function receiptOf(step: JudgedStep, changes: Changes = {}) {
  const { dropoff = KNOWN, takenMs = NOW, capturedMs, placed = true, written = null, isKnown = true } = changes;
  const matcher = new Matcher(TIERS);
  matcher.putDriver({
    id: 'driver',
    tierIds: ['standard'],
    onDuty: true,
    position: placed ? { ...displaced(DOOR, 34, 0), atMs: takenMs } : null,
    freeSinceMs: NOW,
    carried: [carrying('order')],
  });
  const pickup = { point: STORE, accuracyMeters: 0 };
  const trip = { assignedAtMs: NOW - HOUR, approachMeters: 0, pickup, dropoff, pickedUpAt: null, areNeighbours: false };
  const receive = createReceipts({
    matcher,
    store: { findTrip: async () => (isKnown ? { trip, position: written } : null) },
    clock: { now: () => NOW },
  });
  const capturedAt = capturedMs === undefined ? null : new Date(capturedMs);
  return receive(step, { orderId: 'order', driverId: 'driver', stamp: { actionId: null, capturedAt } });
}
const proof = async (changes?: Changes) => (await receiptOf('delivered', changes))?.proof ?? null;

describe('the distance at the handover', () => {
  it('is that between the last position and the dropoff, with the time of the position', async () => {
    const found = await proof({ takenMs: NOW - 5_000 });
    expect(found?.distanceMeters).toBeGreaterThanOrEqual(33);
    expect(found?.distanceMeters).toBeLessThanOrEqual(35);
    expect(found?.positionAt).toEqual(new Date(NOW - 5_000));
  });

  it('is not recorded if the dropoff is inaccurate or unknown', async () => {
    expect(await proof({ dropoff: { ...KNOWN, accuracyMeters: PROOF_DROPOFF_METERS + 1 } })).toBeNull();
    expect(await proof({ dropoff: null })).toBeNull();
  });

  it('is not recorded if the position is from another time than the handover', async () => {
    expect(await proof({ placed: false })).toBeNull();
    expect(await proof({ takenMs: NOW - PROOF_POSITION_MS - 1 })).toBeNull();
    // An action kept through a dead zone and sent half an hour later, when the driver is elsewhere.
    expect(await proof({ capturedMs: NOW - HOUR / 2 })).toBeNull();
  });

  it('counts from the time of the handover, not of its arrival', async () => {
    const captured = NOW - HOUR / 2;
    expect(await proof({ capturedMs: captured, takenMs: captured + 1_000 })).not.toBeNull();
  });

  it('takes a handover in the future for one of now', async () => {
    expect(await proof({ capturedMs: NOW + HOUR })).not.toBeNull();
  });

  it.each([
    ['1990', Date.parse('1990-01-01T00:00:00Z')],
    ['before the assignment', NOW - 2 * HOUR],
  ])('is that at the receipt if the phone says %s, which is marked', async (_what, capturedMs) => {
    const receipt = await receiptOf('delivered', { capturedMs });
    expect(receipt).toMatchObject({ proof: { distanceMeters: 34 }, stampIsPlausible: false });
    expect(receipt?.doubts).toEqual(['implausible_time']);
  });
});

describe('a receipt', () => {
  it('has the distance at the receipt beside, also for a step that a phone kept', async () => {
    const receipt = await receiptOf('delivered', { capturedMs: NOW - HOUR / 2 });
    expect(receipt).toMatchObject({ proof: null, distanceMeters: 34, positionAt: new Date(NOW) });
    expect(receipt).toMatchObject({ stampIsPlausible: true, doubts: [] });
  });

  it('measures from the store at the pick-up and the return, from the door at the others', async () => {
    const metersOf = async (step: JudgedStep) => (await receiptOf(step))?.distanceMeters;
    expect(await Promise.all((['picked_up', 'returned'] as const).map(metersOf))).toEqual([466, 466]);
    expect(await Promise.all((['delivered', 'undeliverable'] as const).map(metersOf))).toEqual([34, 34]);
  });

  it('takes the position that was reported last, here or at another process', async () => {
    const far = displaced(DOOR, 0, 5_000);
    const metersFrom = async (atMs: number, placed = true) =>
      (await receiptOf('delivered', { takenMs: NOW - 5_000, written: { ...far, atMs }, placed }))?.distanceMeters;
    expect(await metersFrom(NOW - 1_000)).toBe(5_000);
    expect(await metersFrom(NOW - 9_000)).toBe(34);
    expect(await metersFrom(NOW - 9_000, false)).toBe(5_000);
  });

  it('of a driver who was never anywhere says so', async () => {
    const receipt = await receiptOf('picked_up', { placed: false });
    expect(receipt).toMatchObject({ distanceMeters: null, positionAt: null, doubts: ['no_position'] });
  });

  it('of an unknown order is none', async () => {
    expect(await receiptOf('picked_up', { isKnown: false })).toBeNull();
  });
});

describe('where the parcel was picked up', () => {
  const pickedUpAt = async (step: JudgedStep, changes?: Changes) =>
    (await receiptOf(step, changes))?.pickedUpAt ?? null;

  it('is where the driver was at the receipt of their pick-up', async () => {
    expect(await pickedUpAt('picked_up')).toMatchObject(displaced(DOOR, 34, 0));
    for (const step of ['delivered', 'undeliverable', 'returned'] as const) expect(await pickedUpAt(step)).toBeNull();
  });

  it('is not known of a pick-up that a phone kept, nor by a position from another time', async () => {
    expect(await pickedUpAt('picked_up', { capturedMs: NOW - HOUR / 2 })).toBeNull();
    expect(await pickedUpAt('picked_up', { takenMs: NOW - PROOF_POSITION_MS - 1 })).toBeNull();
    expect(await pickedUpAt('picked_up', { placed: false })).toBeNull();
  });
});
