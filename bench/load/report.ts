import { availableParallelism } from 'node:os';
import { figure } from '../../test/harness/report.ts';
import {
  bestOf,
  type CostFigure,
  type Figures,
  type LatencyFigure,
  nameOfShare,
  type PeerFigure,
  plural,
  type RateFigure,
} from './figures.ts';

const RULE = 110;
/** Share of the machine for other programs, and of a core for the load, above which figures suffer. */
const MOST_OTHERS = 0.1;
const MOST_LOAD = 0.85;

/** What a whole run says of itself besides its figures. */
export type About = { readonly title: string; readonly seconds: number };

/** The report for a terminal, in columns of fixed width. */
export function reportText({ title, seconds }: About, figures: Figures): string {
  const { conditions, rates, latencies, costs, peers, jobs, faults } = figures;
  const sections = [
    [title, ...conditions],
    ratesSection(rates),
    latenciesSection(latencies),
    costs.length > 0 ? costsSection(costs) : [],
    peers.length > 0 ? peersSection(peers, rates) : [],
    jobs ? [jobsLine(jobs)] : [],
    summary(figures),
    [...warnings(figures), `Took ${seconds.toFixed(0)} s.`],
    faults.length > 0 ? ['FAILED, so nothing above counts:', ...faults.map((fault) => `  ${fault}`)] : [],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

/** The same as data. Rates are orders a second; times are milliseconds, unless their name says seconds. */
export function reportJson(about: About, figures: Figures): string {
  const { rates } = figures;
  const best = rates.length > 0 ? bestOf(rates) : undefined;
  return `${JSON.stringify(
    {
      ...about,
      ok: figures.faults.length === 0,
      best: best && { connections: best.connections, perSecond: best.perSecond },
      ...figures,
    },
    null,
    2,
  )}\n`;
}

function ratesSection(rates: readonly RateFigure[]): string[] {
  const best = bestOf(rates);
  const rows = rates.map((rate) => [
    plural(rate.connections, 'connection'),
    figure(rate.perSecond),
    spread(rate.bySecond),
    figure(rate.p50),
    figure(rate.p99),
    ...(rate.withDriver === undefined ? [] : [`${(rate.withDriver * 100).toFixed(1)} %`]),
    whole(rate.failed),
    `${rate.seconds.toFixed(1)} s`,
    rate === best ? 'best' : '',
  ]);
  const driver = rates.some(({ withDriver }) => withDriver !== undefined) ? ['with driver'] : [];
  const head = ['', 'orders/s', 'by second', 'p50 ms', 'p99 ms', ...driver, 'not 201', 'for', ''];
  return [
    `${driver.length > 0 ? 'Orders matched and durable' : 'Orders answered with 201'} a second`,
    'Each connection sends its next order when its last one is answered, so a slow reply also delays the next order.',
    ...table(head, rows),
  ];
}

function latenciesSection(latencies: readonly LatencyFigure[]): string[] {
  const rows = latencies.map((latency) => [
    `${nameOfShare(latency.share)} of the best`,
    figure(latency.duePerSecond),
    figure(latency.perSecond),
    figure(latency.p50),
    figure(latency.p99),
    figure(latency.p999),
    figure(latency.max),
    whole(latency.failed),
    `${latency.seconds.toFixed(1)} s`,
  ]);
  const head = ['', 'due/s', 'answered/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'max ms', 'not 201', 'for'];
  return [
    'Latency at a given rate',
    'Orders are due at random times (Poisson) that no reply delays; each latency counts from when its order was due.',
    ...table(head, rows),
  ];
}

function costsSection(costs: readonly CostFigure[]): string[] {
  const parts = [...new Set(costs.flatMap(({ millis }) => Object.keys(millis)))];
  const rows = costs.map(({ load, millis, jobs }) => {
    const all = Object.values(millis).reduce((sum, ms) => sum + ms, 0);
    return [load, ...parts.map((part) => figure(millis[part] ?? Number.NaN)), figure(all), jobs.toFixed(2)];
  });
  return [
    'Processor milliseconds an order, by part',
    'An order with a driver owes two jobs, a charge and a text. Where fewer were done, the rest of their cost came later.',
    ...table(['', ...parts.map((part) => (part === 'load generator' ? 'load' : part)), 'in all', 'jobs done'], rows),
  ];
}

function peersSection(peers: readonly PeerFigure[], rates: readonly RateFigure[]): string[] {
  const connections = peers.flatMap(({ rate }) => (rate ? [rate.connections] : []))[0] ?? 0;
  const own = rates.filter((rate) => rate.connections === connections).map((rate) => peerRow('this service', rate, ''));
  const measured = peers.flatMap(({ name, rate, oursIs = Number.NaN }) => {
    return rate ? [peerRow(name, rate, `${figure(oursIs)} ×`)] : [];
  });
  const left = peers.flatMap(({ name, leftOut }) => (leftOut ? [`Left out, the ${name}: ${leftOut}.`] : []));
  const head = ['', 'orders/s', 'by second', 'p50 ms', 'p99 ms', 'ours is', 'not 201', 'for'];
  return [
    `Beside it, over ${plural(connections, 'connection')} too`,
    'The bare server is this one without anything behind it: it parses, validates and replies. The plain service is',
    'fastify and PostGIS, one transaction and one BullMQ job an order, with its worker, which only writes the row.',
    ...table(head, [...own, ...measured]),
    ...left,
  ];
}

function peerRow(name: string, { perSecond, bySecond, p50, p99, failed, seconds }: RateFigure, ours: string): string[] {
  const latencies = [figure(p50), figure(p99)];
  return [name, figure(perSecond), spread(bySecond), ...latencies, ours, whole(failed), `${seconds.toFixed(1)} s`];
}

function jobsLine({ owed, leftOver, waitedSeconds }: NonNullable<Figures['jobs']>): string {
  const after = `${plural(owed, 'job')} owed after the last reply`;
  if (owed === 0) return `No job was owed after the last reply.`;
  if (leftOver === 0) return `${after}, all done ${waitedSeconds.toFixed(1)} s later.`;
  return `${after}, ${whole(leftOver)} still owed ${waitedSeconds.toFixed(1)} s later, when the run stopped waiting.`;
}

/** What a newcomer wants to know, in one sentence for each. */
function summary({ rates, latencies, costs, peers }: Figures): string[] {
  const best = bestOf(rates);
  const half = latencies[0];
  const cost = half && costs.find(({ load }) => load.startsWith(nameOfShare(half.share)));
  const plain = peers.find(({ name }) => name.startsWith('plain'))?.oursIs;
  const all = cost ? Object.values(cost.millis).reduce((sum, ms) => sum + ms, 0) : Number.NaN;
  const perSecond = (availableParallelism() * 1_000) / all;
  return [
    'In short',
    `  ${figure(best.perSecond)} orders a second, matched and on disk, over ${plural(best.connections, 'connection')}.`,
    ...(Number.isFinite(all)
      ? [
          `  ${figure(all)} processor ms for an order that is also charged and texted, all programs here included: so the`,
          `  machine's cores carry ${figure(perSecond)} of those a second.`,
        ]
      : []),
    ...(plain === undefined ? [] : [`  ${figure(plain)} times the plain service.`]),
    ...(half ? [`  At half of the best rate 99 % of the replies come within ${figure(half.p99)} ms.`] : []),
  ];
}

/** What makes the figures worse than the service is. */
function warnings({ rates, latencies, costs }: Figures): string[] {
  const others = costs.map((cost) => cost.others).filter(Number.isFinite);
  const most = Math.max(0, ...others);
  const busiest = Math.max(0, ...[...rates, ...latencies].map(({ loadCore }) => loadCore));
  const used = `Other programs used up to ${percent(most)} of the machine's processor time meanwhile`;
  return [
    ...(others.length === 0
      ? []
      : [most > MOST_OTHERS ? `${used}: rates are too low, latencies too long.` : `${used}.`]),
    ...(busiest > MOST_LOAD ? [`The load itself used ${percent(busiest)} of a core: the service may take more.`] : []),
  ];
}

/** The least and the most of the whole seconds of a measurement. */
function spread(bySecond: readonly number[]): string {
  if (bySecond.length < 2) return '–';
  return `${whole(Math.min(...bySecond))} to ${whole(Math.max(...bySecond))}`;
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
const whole = (count: number): string => count.toLocaleString('en-US');

/** Names to the left, figures to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `  ${cells.join('  ')}`.trimEnd();
  };
  const ruled = '-'.repeat(
    Math.min(
      RULE,
      widths.reduce((sum, width) => sum + width + 2, -2),
    ),
  );
  return [line(head), `  ${ruled}`, ...rows.map(line)];
}
