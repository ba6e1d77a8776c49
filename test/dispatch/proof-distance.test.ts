import { describe, expect, it } from 'vitest';
import { createProofDistance } from '../../src/dispatch/proof-distance.ts';
import type { DropoffPoint } from '../../src/domain/dropoff.ts';
import { PROOF_DROPOFF_METERS, PROOF_POSITION_MS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from '../matcher/brute-force.ts';

const NOW = 1_700_000_000_000;
const DOOR = { lat: 40.73, lng: -73.99 };
const KNOWN: DropoffPoint = { point: DOOR, accuracyMeters: PROOF_DROPOFF_METERS, source: 'geocoder' };

function proof(
  changes: { dropoff?: DropoffPoint | null; takenMs?: number; capturedMs?: number; placed?: boolean } = {},
) {
  const { dropoff = KNOWN, takenMs = NOW, capturedMs, placed = true } = changes;
  const matcher = new Matcher(TIERS);
  const position = placed ? { ...displaced(DOOR, 34, 0), atMs: takenMs } : null;
  matcher.putDriver({
    id: 'driver',
    tierIds: ['standard'],
    onDuty: true,
    position,
    freeSinceMs: NOW,
    orderId: 'order',
  });
  const measure = createProofDistance({
    matcher,
    store: { findDropoffPoint: async () => dropoff },
    clock: { now: () => NOW },
  });
  return measure('order', 'driver', capturedMs === undefined ? null : new Date(capturedMs));
}

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
    expect(await proof({ capturedMs: NOW - 1_800_000 })).toBeNull();
  });

  it('counts from the time of the handover, not of its arrival', async () => {
    const captured = NOW - 1_800_000;
    expect(await proof({ capturedMs: captured, takenMs: captured + 1_000 })).not.toBeNull();
  });

  it('takes a handover in the future for one of now', async () => {
    expect(await proof({ capturedMs: NOW + 3_600_000 })).not.toBeNull();
  });
});
