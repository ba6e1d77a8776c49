import { describe, expect, test } from 'vitest';
import type { Figures, RateFigure } from '../../../bench/load/figures.ts';
import { reportJson, reportText, table } from '../../../bench/load/report.ts';

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

  test('has a line for each number of connections and marks the best', () => {
    expect(
      line('1 connection ')
        .split(/\s{2,}/)
        .slice(1),
    ).toEqual(['1 connection', '200', '190 to 210', '5.25', '20.5', '99.5 %', '0', '5.0 s']);
    expect(line('100 connections')).toMatch(/1,500.*best$/);
    expect(line('1,000 connections')).not.toContain('best');
  });

  test('has latencies, costs, peers and jobs', () => {
    expect(
      line('half of the best')
        .split(/\s{2,}/)
        .slice(2, 7),
    ).toEqual(['750', '749', '5.25', '20.5', '31.0']);
    expect(lines.join('\n')).toMatch(/100 connections +0\.40 +0\.30 +0\.10 +0\.80 +1\.50/);
    expect(line('bare server')).toMatch(/5,000 .*0\.30 ×/);
    expect(line('Left out')).toBe('Left out, the plain service: it needs PostGIS.');
    expect(line('1,234 jobs owed')).toContain('12 still owed 5.0 s later');
  });

  test('says in short what a newcomer wants to know, as far as it was measured', () => {
    expect(lines.join('\n')).toContain('  1,500 orders a second, matched and on disk, over 100 connections.');
    const half = { load: 'half of the best rate', millis: { API: 0.5, Postgres: 0.5 }, jobs: 2, others: 0 };
    const plain = { name: 'plain service', rate: rate(100, 500), oursIs: 3 };
    const whole = reportText(ABOUT, { ...FIGURES, costs: [half], peers: [plain] });
    expect(whole).toContain('1.00 processor ms for an order that is also charged and texted');
    expect(whole).toContain('3.00 times the plain service.');
    expect(whole).toContain('At half of the best rate 99 % of the replies come within 20.5 ms.');
    expect(reportText(ABOUT, { ...FIGURES, costs: [], peers: [], latencies: [] })).not.toContain('charged and texted');
  });

  test('fits a terminal of 120 columns', () => {
    expect(lines.filter((each) => each.length > 120)).toEqual([]);
  });

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

  test('has the same figures as JSON, with the best rate', () => {
    const best = { connections: 100, perSecond: 1_500 };
    expect(JSON.parse(reportJson(ABOUT, FIGURES))).toEqual({ ...ABOUT, ok: true, best, ...FIGURES });
  });

  test('leaves out what was not measured', () => {
    const { jobs: _, ...rest } = FIGURES;
    const text = reportText(ABOUT, { ...rest, costs: [], peers: [] });
    expect(text).not.toMatch(/Processor|Beside|owed/);
  });
});

test('a table has names to the left and figures to the right', () => {
  expect(
    table(
      ['', 'n'],
      [
        ['a', '1'],
        ['long', '100'],
      ],
    ),
  ).toEqual(['          n', '  ---------', '  a       1', '  long  100']);
});
