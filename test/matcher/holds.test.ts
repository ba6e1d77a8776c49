import { beforeEach, describe, expect, it } from 'vitest';
import type { HoldReason } from '../../src/domain/hold.ts';
import { Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { TIERS } from './brute-force.ts';
import { freeDriver } from './carrying.ts';

const NOW = 1_700_000_000_000;
const STORE = { lat: 40.73, lng: -73.99 };
let matcher: Matcher;
beforeEach(() => {
  matcher = new Matcher(TIERS);
  for (const id of ['a', 'b', 'c', 'd', 'e']) matcher.putDriver(freeDriver(id, STORE, NOW));
});

function wait(orderId: string, changes: Partial<WaitingOrder> = {}): void {
  matcher.wait({ orderId, retailerId: 'store', tierId: 'standard', point: STORE, sinceMs: NOW - 60_000, ...changes });
}
const hold = (reason: HoldReason | null, credit = 0) => matcher.setHold({ retailerId: 'store', reason, credit });
const claim = (orderId: string, retailerId = 'store') =>
  matcher.claimNearest({ tierId: 'standard', point: STORE, radiusMeters: 5_000, nowMs: NOW, orderId, retailerId });

describe('a store that is held', () => {
  it.each<HoldReason>(['store_suspended', 'payment_required'])('gets no driver in any way, and says %s', (reason) => {
    wait('before');
    hold(reason);
    wait('after');
    wait('foreign', { retailerId: 'other', sinceMs: NOW - 1_000 });
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('foreign');
    for (const orderId of ['before', 'after']) {
      expect(matcher.bestDriverFor(orderId, NOW)).toBeUndefined();
      expect(matcher.beginAssign(orderId, 'a', NOW)).toBe(false);
      expect(matcher.whyWaiting(orderId)).toBe(reason);
    }
    expect(matcher.waitingByClaim(1, NOW)).toEqual(['foreign']);
    expect(matcher.waitingByClaim(0, NOW)).toBeNull();
    expect(claim('new')).toBeUndefined();
    expect(claim('foreign-new', 'other')).toBeDefined();
    expect(matcher.freeCount()).toBe(4);
    expect([matcher.waitingCountOf('store'), matcher.waitingCount(), matcher.heldCount(reason)]).toEqual([2, 3, 2]);
  });
});

describe('a store with credit', () => {
  it('spends none on an order that was charged before, and any number without a bound', () => {
    wait('charged', { isCharged: true });
    hold(null, 1);
    expect(matcher.beginAssign('charged', 'a', NOW)).toBe(true);
    expect(matcher.holdOf('store')).toBeNull();
    matcher.endHold('store');
    expect(matcher.isWatched('store')).toBe(false);
    expect([claim('1'), claim('2'), claim('3')].every((found) => found !== undefined)).toBe(true);
    expect(matcher.watchedRetailers()).toEqual([]);
  });
});
