import { beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { Tiers } from '../../src/domain/tier.ts';
import { MAX_TIERS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { tiersOf } from './brute-force.ts';
import { carrying, freeDriver, setDuty } from './carrying.ts';

const NOW = 1_700_000_000_000;
const STORE = { lat: 40.73, lng: -73.99 };
const FOURTH = 'tier-3';
let matcher: Matcher;
beforeEach(() => {
  matcher = new Matcher(tiersOf(4));
});

/** A driver who is available at the store. */
function put(id: string, tierIds: readonly string[], changes: Partial<FleetDriver> = {}): void {
  matcher.putDriver(freeDriver(id, STORE, NOW, { tierIds, ...changes }));
}

function wait(orderId: string, tierId: string): void {
  matcher.wait({ orderId, retailerId: 'store', tierId, point: STORE, sinceMs: NOW });
}

const nearest = (tierId: string) =>
  matcher.nearest({ tierId, point: STORE, radiusMeters: 1_000, nowMs: NOW })?.driverId;

const without = (tiers: Tiers, ...ids: readonly string[]): Tiers =>
  new Map([...tiers].filter(([id]) => !ids.includes(id)));

describe('the order of a fourth tier', () => {
  it('never goes to a driver who is busy, off duty, set aside or unqualified', () => {
    put('busy', [FOURTH], { carried: [carrying('other')] });
    put('off-duty', [FOURTH], { onDuty: false });
    put('refused', [FOURTH]);
    matcher.claim('refused', 'x');
    matcher.setAside('refused', 'x', NOW);
    put('unqualified', ['standard', 'priority', 'scheduled']);
    wait('order', FOURTH);
    expect(nearest(FOURTH)).toBeUndefined();
    expect(matcher.bestDriverFor('order', NOW)).toBeUndefined();
    expect(matcher.bestWaitingFor('unqualified', NOW)).toBeUndefined();
    expect(matcher.whyWaiting('order')).toBe('all_drivers_busy');
  });

  it('goes to a free driver who serves the tier, and to nobody else', () => {
    put('free', ['priority', FOURTH]);
    put('a-nearer-one', ['standard']);
    wait('order', FOURTH);
    expect(nearest(FOURTH)).toBe('free');
    expect(matcher.bestDriverFor('order', NOW)?.driverId).toBe('free');
    expect(matcher.bestWaitingFor('free', NOW)?.orderId).toBe('order');
  });
});

describe('a full table', () => {
  it('keeps the drivers and the orders of every tier apart', () => {
    const ids = [...tiersOf(MAX_TIERS).keys()];
    matcher = new Matcher(tiersOf(MAX_TIERS));
    for (const id of ids) put(`serves-${id}`, [id]);
    for (const id of ids) wait(`asks-${id}`, id);
    expect(ids).toHaveLength(MAX_TIERS);
    for (const id of ids) {
      expect(nearest(id)).toBe(`serves-${id}`);
      expect(matcher.bestWaitingFor(`serves-${id}`, NOW)?.orderId).toBe(`asks-${id}`);
    }
  });

  it('is the largest that is accepted, and the table of before stays', () => {
    const tooMany = tiersOf(MAX_TIERS + 1);
    const sentence = `The tier table has ${MAX_TIERS + 1} rows, but the matcher holds at most ${MAX_TIERS} tiers.`;
    expect(() => new Matcher(tooMany)).toThrow(sentence);
    put('a', [FOURTH, `tier-${MAX_TIERS}`]);
    expect(() => matcher.setTiers(tooMany)).toThrow(sentence);
    expect([nearest(FOURTH), nearest(`tier-${MAX_TIERS}`)]).toEqual(['a', undefined]);
    matcher.setTiers(tiersOf(MAX_TIERS));
    expect(nearest(FOURTH)).toBe('a');
  });
});

describe('a tier that comes into the table', () => {
  it('is served by the drivers who were qualified for it before, and its orders are found', () => {
    put('a', ['standard', 'tier-4']);
    put('b', ['tier-4'], { carried: [carrying('other')] });
    wait('order', 'tier-4');
    expect([nearest('tier-4'), matcher.bestWaitingFor('a', NOW)]).toEqual([undefined, undefined]);
    expect(matcher.whyWaiting('order')).toBe('none_qualified');
    expect(matcher.driver('a')?.tierIds).toEqual(['standard', 'tier-4']);
    matcher.setTiers(tiersOf(5));
    expect(nearest('tier-4')).toBe('a');
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('order');
    expect(matcher.whyWaiting('order')).toBe('none_in_radius');
    matcher.claim('a', 'x');
    expect([nearest('tier-4'), matcher.whyWaiting('order')]).toEqual([undefined, 'all_drivers_busy']);
    matcher.release('b', NOW, 'other');
    expect(nearest('tier-4')).toBe('b');
  });

  it('is not served by the drivers of the tier whose number it gets', () => {
    put('old', [FOURTH]);
    put('new', ['tier-4']);
    wait('old-order', FOURTH);
    wait('new-order', 'tier-4');
    matcher.setTiers(without(tiersOf(5), FOURTH));
    expect([nearest(FOURTH), nearest('tier-4')]).toEqual([undefined, 'new']);
    expect(matcher.bestWaitingFor('old', NOW)).toBeUndefined();
    expect(matcher.bestWaitingFor('new', NOW)?.orderId).toBe('new-order');
  });
});

describe('a tier that leaves the table', () => {
  it('keeps its orders waiting until its row is back', () => {
    put('a', ['standard', FOURTH]);
    wait('order', FOURTH);
    wait('in-flight', FOURTH);
    matcher.beginAssign('in-flight', 'a', NOW);
    matcher.setTiers(tiersOf(3));
    matcher.endAssign('in-flight', 'driver_lost', NOW);
    setDuty(matcher, 'a', true, NOW);
    expect([nearest('standard'), nearest(FOURTH)]).toEqual(['a', undefined]);
    expect([matcher.bestWaitingFor('a', NOW), matcher.bestDriverFor('order', NOW)]).toEqual([undefined, undefined]);
    expect([matcher.whyWaiting('order'), matcher.waitingCount()]).toEqual(['none_qualified', 2]);
    matcher.setTiers(tiersOf(4));
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('in-flight');
    matcher.unwait('in-flight');
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('order');
  });
});
