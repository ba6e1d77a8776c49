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

  it('gets drivers again when it is let go, but not for an order whose assignment is in flight', () => {
    wait('in-flight');
    wait('waits');
    matcher.beginAssign('in-flight', 'a', NOW);
    hold('store_suspended');
    matcher.endHold('store');
    expect(matcher.bestWaitingFor('b', NOW)?.orderId).toBe('waits');
    matcher.unwait('waits');
    expect(matcher.bestWaitingFor('b', NOW)).toBeUndefined();
    matcher.endAssign('in-flight', 'driver_lost', NOW);
    expect(matcher.bestWaitingFor('b', NOW)?.orderId).toBe('in-flight');
    expect(matcher.heldCount('store_suspended')).toBe(0);
  });

  it('keeps its orders hidden when their assignments end meanwhile', () => {
    for (const orderId of ['lost', 'refused']) wait(orderId);
    matcher.beginAssign('lost', 'a', NOW);
    matcher.beginAssign('refused', 'b', NOW);
    hold('payment_required');
    matcher.endAssign('lost', 'driver_lost', NOW);
    matcher.endAssign('refused', 'held', NOW);
    expect(matcher.bestWaitingFor('c', NOW)).toBeUndefined();
    expect(matcher.isWaiting('refused')).toBe(true);
    expect(matcher.driver('b')).toMatchObject({ carried: [], freeSinceMs: NOW });
    expect(matcher.isAvailable('b', NOW)).toBe(true);
  });

  it('for want of payment still gets a driver for an order that was charged before; a suspended one does not', () => {
    wait('charged', { isCharged: true });
    hold('payment_required');
    expect(matcher.whyWaiting('charged')).toBe('none_in_radius');
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('charged');
    hold('store_suspended');
    expect(matcher.bestWaitingFor('a', NOW)).toBeUndefined();
    expect(matcher.whyWaiting('charged')).toBe('store_suspended');
  });

  it('hides an order whose charge failed since, once it is read again', () => {
    wait('order', { isCharged: true });
    hold('payment_required');
    wait('order');
    expect(matcher.bestWaitingFor('a', NOW)).toBeUndefined();
  });
});

describe('a store with credit', () => {
  it('gets as many drivers as it has credit, for new and waiting orders together', () => {
    for (const orderId of ['one', 'two', 'three']) wait(orderId);
    hold(null, 3);
    expect(claim('new')).toBeDefined();
    expect(matcher.holdOf('store')).toBeNull();
    const given = ['one', 'two', 'three'].filter((orderId) => {
      const driver = matcher.bestDriverFor(orderId, NOW);
      return driver !== undefined && matcher.beginAssign(orderId, driver.driverId, NOW);
    });
    expect(given).toEqual(['one', 'two']);
    expect(matcher.whyWaiting('three')).toBe('payment_required');
    expect(claim('newer')).toBeUndefined();
    hold(null, 1);
    expect(matcher.bestDriverFor('three', NOW)).toBeDefined();
  });

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
