import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planInstance } from '../../bench/dispatch/day.ts';
import { generatedInstance } from '../../bench/dispatch/generated.ts';
import { Day } from '../../bench/dispatch/rule-day.ts';
import { writeSolution } from '../../bench/dispatch/solution.ts';
import { loadTestTiers } from '../../bench/support/tiers.ts';
import type { Tier } from '../../src/domain/tier.ts';

// Whole days of a benchmark; the planner's own rules are in test/planner.
const instance = generatedInstance(1);
const planned = planInstance(instance, 'ready');
const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;

describe('a generated day through the planner', () => {
  it('delivers every order, nearer in time than the rule of today', () => {
    const waits = planned.deliveries.map(({ order, doorAt }) => (doorAt as number) - order.placedAt);
    const today = new Day(instance, loadTestTiers().get('standard') as Tier).run();
    expect(waits.every(Number.isFinite)).toBe(true);
    expect(mean(waits)).toBeLessThan(mean(today.map(({ doorAfter }) => doorAfter ?? 0)) - 3);
  });

  it('tells nobody of an order before it is placed, and takes none over before it is ready', () => {
    for (const { order, pickedUpAt } of planned.deliveries) {
      expect(planned.toldAt.get(order.id)).toBeGreaterThanOrEqual(order.placedAt);
      expect(pickedUpAt).toBeGreaterThanOrEqual(order.readyAt);
    }
  });

  it('is worse where nothing but the mean preparation time is known', () => {
    const doors = ({ deliveries }: typeof planned) => mean(deliveries.map(({ doorAt }) => doorAt as number));
    expect(doors(planInstance(instance, 'mean'))).toBeGreaterThan(doors(planned));
  });

  it('delivers every order where its door is found late or never, and is another day then', () => {
    const days = (['late', 'never'] as const).map((doors) => planInstance(instance, 'ready', { doors }));
    for (const { deliveries } of days) expect(deliveries.every(({ doorAt }) => Number.isFinite(doorAt))).toBe(true);
    const [exact, late, never] = [planned, ...days].map(({ deeds }) =>
      deeds.map(({ kind, driverId, order, atMs }) => `${kind} ${order?.id} by ${driverId} at ${atMs}`),
    );
    expect(late).not.toEqual(exact);
    expect(never).not.toEqual(late);
    expect(never).not.toEqual(exact);
  });

  it('is written so that each courier goes on from where they were', () => {
    const folder = mkdtempSync(join(tmpdir(), 'solution-'));
    try {
      writeSolution(folder, instance, planned);
      const rows = (name: string) => {
        const text = readFileSync(join(folder, instance.name, `solution_info_${name}.txt`), 'utf8');
        return text
          .trim()
          .split('\n')
          .slice(1)
          .map((row) => row.split(' '));
      };
      expect(
        rows('assignments')
          .flatMap((row) => row.slice(3))
          .toSorted(),
      ).toEqual(instance.orders.map(({ id }) => id).toSorted());
      expect(rows('orders')).toHaveLength(instance.orders.length);
      const at = new Map<string, string>();
      for (const [courier = '', , from, to = ''] of rows('couriers')) {
        expect(from).toBe(at.get(courier) ?? courier);
        at.set(courier, to);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
