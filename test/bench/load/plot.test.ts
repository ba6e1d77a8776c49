import { describe, expect, test } from 'vitest';
import { gridOf, percentage, percentilePoints, plotSvg } from '../../../bench/load/plot.ts';

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

  test.each([
    [0, '0 %'],
    [1, '90 %'],
    [2, '99 %'],
    [3, '99.9 %'],
    [4, '99.99 %'],
  ])('decade %d is %s', (decade, text) => {
    expect(percentage(decade)).toBe(text);
  });

  test.each([
    [7, 8, 2],
    [43, 50, 10],
    [100, 100, 20],
    [101, 150, 50],
    [0.4, 0.4, 0.1],
  ])('a grid for %d ms ends at %d in steps of %d', (value, top, step) => {
    const grid = gridOf(value);
    expect(grid.step).toBeCloseTo(step, 9);
    expect(grid.top).toBeCloseTo(top, 9);
  });
});

test('the plot stands alone, names its curves, and leaves out one without orders', () => {
  const curves = [
    { name: 'half & more', millis: upTo(2_000) },
    { name: 'empty', millis: [] },
  ];
  const svg = plotSvg('A <title>', curves);
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  expect(svg).toContain('A &lt;title>');
  expect(svg).toContain('half &amp; more');
  expect(svg).toContain('99.9 %');
  expect(svg).not.toContain('empty');
  expect(svg).not.toMatch(/NaN|Infinity|undefined|href|<script/);
});
