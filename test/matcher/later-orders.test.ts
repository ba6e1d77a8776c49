import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { FAIR_SHARE_MS } from '../../src/matcher/fair-shares.ts';
import { type LaterOrder, LaterOrders } from '../../src/matcher/later-orders.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { TIERS } from './brute-force.ts';
import { freeDriver } from './carrying.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const STORE = { lat: 40.73, lng: -73.99 };

const later = (orderId: string, dueMs: number, retailerId = 'store'): LaterOrder => ({
  orderId,
  retailerId,
  tierId: 'standard',
  point: STORE,
  sinceMs: dueMs,
  dueMs,
});

describe('the heap of later orders', () => {
  it('answers as a list that is searched from end to end', () => {
    const id = fc.constantFrom(...'abcdefghijklmnop');
    const due = fc.integer({ min: 0, max: 20 });
    const step = fc.oneof(
      fc.record({ put: id, due, store: fc.constantFrom('one', 'two') }),
      fc.record({ delete: id }),
      fc.record({ takeBy: due }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = new LaterOrders();
        const model = new Map<string, LaterOrder>();
        for (const each of steps) {
          if ('put' in each) {
            heap.put(later(each.put, each.due, each.store));
            model.set(each.put, later(each.put, each.due, each.store));
          } else if ('delete' in each) {
            expect(heap.delete(each.delete)).toBe(model.delete(each.delete));
          } else {
            const first = Math.min(...Array.from(model.values(), ({ dueMs }) => dueMs));
            const taken = heap.takeDue(each.takeBy);
            expect(taken?.dueMs).toBe(first <= each.takeBy ? first : undefined);
            if (taken) expect(model.delete(taken.orderId)).toBe(true);
          }
          const all = [...model.values()];
          expect(heap.size).toBe(model.size);
          expect(heap.nextDueMs).toBe(all.length > 0 ? Math.min(...all.map(({ dueMs }) => dueMs)) : undefined);
          expect([...heap.ids()].toSorted()).toEqual([...model.keys()].toSorted());
          for (const [orderId, order] of model) expect(heap.get(orderId)).toEqual(order);
          for (const store of ['one', 'two']) {
            expect(heap.countOf(store)).toBe(all.filter(({ retailerId }) => retailerId === store).length);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('an order for later', () => {
  let matcher: Matcher;
  beforeEach(() => {
    matcher = new Matcher(TIERS);
    matcher.putDriver(freeDriver('d', STORE, NOW));
  });

  it('is passed over by a free driver, and is in no queue', () => {
    matcher.wait(later('later', NOW + MINUTE));
    expect(matcher.bestWaitingFor('d', NOW)).toBeUndefined();
    expect(matcher.bestDriverFor('later', NOW)).toBeUndefined();
    expect(matcher.waitingByClaim(9, NOW)).toEqual([]);
    expect(matcher.beginAssign('later', 'd', NOW)).toBe(false);
    expect([matcher.waitingCount(), matcher.isWaiting('later'), [...matcher.waitingOrders()]]).toEqual([0, false, []]);
    expect([matcher.laterCount(), matcher.laterCountOf('store'), matcher.isLater('later')]).toEqual([1, 1, true]);
    expect(matcher.whyWaiting('later')).toBe('not_yet');
    expect(matcher.wake(NOW + MINUTE - 1)).toEqual([]);
  });

  it('waits for a driver since it was due, however long it waited for its time', () => {
    matcher.wait(later('later', NOW + MINUTE));
    expect(matcher.nextDueMs()).toBe(NOW + MINUTE);
    expect(matcher.wake(NOW + 2 * MINUTE)).toEqual(['later']);
    expect(matcher.waitingOrder('later')).toMatchObject({ sinceMs: NOW + MINUTE });
    expect(matcher.waitingOrder('later')?.dueMs).toBeUndefined();
    expect([matcher.laterCount(), matcher.nextDueMs()]).toEqual([0, undefined]);
    expect(matcher.bestDriverFor('later', NOW + MINUTE)?.driverId).toBe('d');
  });

  it('takes its fair start when it is due: orders of one store queue up behind each other', () => {
    for (const id of ['a', 'b', 'c']) matcher.wait(later(id, NOW + MINUTE));
    expect(matcher.fairStart('store', NOW)).toBeUndefined();
    matcher.forgetShares('store');
    const woken = matcher.wake(NOW + MINUTE);
    const leads = woken.map((id) => (matcher.waitingOrder(id)?.fairStartMs ?? NOW + MINUTE) - NOW - MINUTE);
    expect(leads).toEqual([0, FAIR_SHARE_MS, 2 * FAIR_SHARE_MS]);
  });

  it('leaves when it is cancelled, and changes its time when it is put again', () => {
    matcher.wait(later('later', NOW + MINUTE));
    expect(matcher.unwait('later')).toBe(true);
    expect([matcher.unwait('later'), matcher.laterCount(), matcher.wake(NOW + MINUTE)]).toEqual([false, 0, []]);
    matcher.wait(later('later', NOW + 5 * MINUTE));
    matcher.wait(later('later', NOW + MINUTE));
    expect([matcher.laterCount(), matcher.nextDueMs()]).toEqual([1, NOW + MINUTE]);
    matcher.wait({ ...later('later', NOW), dueMs: undefined });
    expect([matcher.laterCount(), matcher.isWaiting('later')]).toEqual([0, true]);
    matcher.wait(later('later', NOW + MINUTE));
    expect([matcher.laterCount(), matcher.isWaiting('later')]).toEqual([1, false]);
  });

  it('of a held store stays held when it is due', () => {
    matcher.wait(later('later', NOW + MINUTE));
    matcher.setHold({ retailerId: 'store', reason: 'store_suspended', credit: 0 });
    expect(matcher.whyWaiting('later')).toBe('store_suspended');
    matcher.wake(NOW + MINUTE);
    expect(matcher.whyWaiting('later')).toBe('store_suspended');
    expect(matcher.bestWaitingFor('d', NOW + MINUTE)).toBeUndefined();
    matcher.endHold('store');
    expect(matcher.bestWaitingFor('d', NOW + MINUTE)?.orderId).toBe('later');
  });

  it('is told of where it is due before all others', () => {
    const heard: (number | undefined)[] = [];
    matcher.whenNextDueChanges(() => heard.push(matcher.nextDueMs()));
    matcher.wait(later('b', NOW + 2 * MINUTE));
    matcher.wait(later('c', NOW + 3 * MINUTE));
    matcher.wait(later('a', NOW + MINUTE));
    expect(heard).toEqual([NOW + 2 * MINUTE, NOW + MINUTE]);
  });
});
