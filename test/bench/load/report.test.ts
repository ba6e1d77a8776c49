import { describe, expect, test } from 'vitest';
import type { Figures, RateFigure } from '../../../bench/load/figures.ts';
import { reportJson, reportText } from '../../../bench/load/report.ts';

const answers = { p50: 5.25, p99: 20.5, p999: 31, max: 40, created: 5_000, failed: 0, seconds: 5, loadCore: 0.2 };
const rate = (connections: number, perSecond: number): RateFigure => {
  return { ...answers, connections, perSecond, bySecond: [perSecond - 10, perSecond + 10], withDriver: 0.995 };
};
const ABOUT = { title: 'Sameday under load', seconds: 83.4 };
const FIGURES: Figures = {
  conditions: ['A sentence.'],
  rates: [rate(1, 200), rate(100, 1_500), rate(1_000, 1_400)],
  latencies: [{ ...answers, share: 0.5, duePerSecond: 750, perSecond: 749 }],
  costs: [
    { load: '100 connections', millis: { API: 0.4, Postgres: 0.3, 'load generator': 0.1 }, jobs: 1.5, others: 0.04 },
  ],
  peers: [
    { name: 'bare server', rate: rate(100, 5_000), oursIs: 0.3 },
    { name: 'plain service', leftOut: 'it needs PostGIS' },
  ],
  jobs: { owed: 1_234, leftOver: 12, waitedSeconds: 5 },
  faults: [],
};

describe('the report', () => {
  const lines = reportText(ABOUT, FIGURES).split('\n');
  const line = (start: string): string => lines.find((each) => each.trimStart().startsWith(start)) ?? '';

  test('says at its end where it is worth nothing', () => {
    expect(reportText(ABOUT, FIGURES)).not.toContain('FAILED');
    const failed = { ...FIGURES, faults: ['orders: 2 are missing'] };
    expect(reportText(ABOUT, failed)).toMatch(/FAILED, so nothing above counts:\n {2}orders: 2 are missing\n$/);
    expect(JSON.parse(reportJson(ABOUT, failed))).toMatchObject({ ok: false, faults: failed.faults });
  });

  test('warns where other programs, or the load itself, took from the figures', () => {
    expect(line('Other programs')).toBe("Other programs used up to 4 % of the machine's processor time meanwhile.");
    const costs = FIGURES.costs.map((cost) => ({ ...cost, others: 0.5 }));
    const rates = [{ ...rate(1, 200), loadCore: 0.97 }];
    const text = reportText(ABOUT, { ...FIGURES, costs, rates });
    expect(text).toContain('up to 50 % of the machine');
    expect(text).toContain('rates are too low, latencies too long');
    expect(text).toContain('The load itself used 97 % of a core');
  });
});
