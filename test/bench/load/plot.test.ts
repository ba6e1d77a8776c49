import { describe, expect, test } from 'vitest';
import { percentilePoints } from '../../../bench/load/plot.ts';

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

describe('latency by percentile', () => {
  test('stands at log10 of one over the share that was slower', () => {
    const points = percentilePoints(upTo(1_000), 100_000);
    const at = (x: number) => points.find((point) => Math.abs(point.x - x) < 1e-9)?.y;
    expect(at(0)).toBe(1);
    // 90 % are 1 to 900, and 99 % are 1 to 990.
    expect(at(1)).toBe(901);
    expect(at(2)).toBe(991);
    expect(at(3)).toBe(1_000);
  });

  test('rises, ends at the slowest order, and has few points however many orders there were', () => {
    const points = percentilePoints(upTo(50_000).toReversed());
    expect(points.length).toBeLessThanOrEqual(402);
    for (const [i, { x, y }] of points.entries()) {
      expect(x).toBeGreaterThanOrEqual(points[i - 1]?.x ?? 0);
      expect(y).toBeGreaterThanOrEqual(points[i - 1]?.y ?? 0);
    }
    expect(points.at(-1)).toEqual({ x: Math.log10(50_000), y: 50_000 });
  });
});
