import type { Report } from '../../test/harness/report.ts';
import { summary } from '../../test/harness/timing.ts';
import type { Followed } from './sockets-events.ts';
import type { GeoAdd } from './sockets-geoadd.ts';
import type { Sent } from './sockets-reports.ts';
import type { Watched } from './sockets-watch.ts';

const TARGET_PER_SECOND = 50_000;
const TARGET_P99_MS = 250;

export type ReportsRow = {
  readonly what: string;
  readonly sent: Sent;
  readonly watched: Watched | null;
  readonly checked: number;
};
export type PagesRow = Followed & { readonly what: string; readonly watched: Watched | null };
/** Resident bytes before sockets were opened and their growth, with the heap in use after a collection. */
export type Memory = {
  readonly what: string;
  readonly sockets: number;
  readonly before: number;
  readonly rss: number;
  readonly heap: number;
};

const perSecond = ({ sent }: ReportsRow): number => (sent.reports / sent.tookMs) * 1_000;

/** Prints and judges the results of `bench:positions`. */
export function tellReports(report: Report, rows: readonly ReportsRow[], peers: readonly GeoAdd[]): void {
  if (peers.length === 0) report.note('No Redis at hand: nothing beside it.');
  const peer = peers[0] ? (peers[0].reports / peers[0].tookMs) * 1_000 : Number.NaN;
  const line = (row: ReportsRow) => {
    const { answersMs } = row.sent;
    const { p50, p99 } = summary(answersMs.length > 0 ? answersMs : Float64Array.of(Number.NaN));
    const cores = row.sent.cpuMs / row.sent.tookMs;
    const ratio = perSecond(row) / peer;
    return [row.what, perSecond(row), ratio, row.watched?.apiCores ?? Number.NaN, cores, p50, p99, row.checked];
  };
  const peerLine = ({ what, reports, tookMs, redisCores, clientCores, pipelinesMs }: GeoAdd) => {
    const { p50, p99 } = summary(pipelinesMs);
    const rate = (reports / tookMs) * 1_000;
    return [what, rate, rate / peer, redisCores, clientCores, p50, p99, 0];
  };
  report.table(
    'Position reports',
    ['', 'reports/s', 'to GEOADD', 'server, cores', 'clients, cores', 'taken after p50, ms', 'p99', 'followed up'],
    [...rows.map(line), ...peers.map(peerLine)],
  );
  report.table(
    'The service and its database meanwhile',
    [
      '',
      'loop delay p99, ms',
      'max',
      'oldest row, s',
      'middle row, s',
      'rows/s',
      'commits/s',
      'WAL KB/s',
      'Postgres, cores',
      'machine, cores',
      'phones late, ms',
    ],
    rows.flatMap(({ what, watched: w, sent }) => {
      if (!w) return [];
      const delays = [w.loopDelayP99Ms, w.loopDelayMaxMs, w.oldestRowSeconds, w.middleRowSeconds];
      const database = [w.rowsPerSecond, w.commitsPerSecond, w.walPerSecond / 1_000, w.postgresCores];
      return [[what, ...delays, ...database, w.machineCores, sent.lateMs]];
    }),
  );
  for (const row of rows.filter(({ what, watched }) => watched && what.endsWith('5.1 a second each'))) {
    report.atLeast(`reports a second: ${row.what}`, perSecond(row), TARGET_PER_SECOND);
  }
}

/** Prints and judges the results of `bench:tracking`. */
export function tellPages(report: Report, sockets: number, rows: readonly PagesRow[], memory: readonly Memory[]): void {
  const figures = (values: Float64Array) => {
    const { min, p50, p99, max, mean, deviation } = summary(values);
    return [min, p50, p99, max, mean, deviation];
  };
  report.table(
    `${sockets} open tracking sockets: from the answer (or the commit) to the frame, ms`,
    ['', 'events', 'frames', 'lost', 'min', 'p50', 'p99', 'max', 'mean', 'deviation'],
    rows.map((row) => [row.what, row.events, row.frames, row.expected - row.frames, ...figures(row.fromDoneMs)]),
  );
  report.table(
    'From the request to the frame, and to its own answer, ms',
    ['', 'frame p50', 'p99', 'max', 'answer p50', 'p99', 'max', 'all within', 'events/s'],
    rows.map((row) => {
      const [frame, answer] = [summary(row.fromSentMs), summary(row.answersMs)];
      const rate = (row.events / row.tookMs) * 1_000;
      return [row.what, frame.p50, frame.p99, frame.max, answer.p50, answer.p99, answer.max, row.tookMs, rate];
    }),
  );
  report.table(
    'The service meanwhile',
    ['', 'service, cores', 'Postgres, cores', 'machine, cores', 'loop delay p99, ms', 'max'],
    rows.flatMap(({ what, watched: w }) =>
      w ? [[what, w.apiCores, w.postgresCores, w.machineCores, w.loopDelayP99Ms, w.loopDelayMaxMs]] : [],
    ),
  );
  report.table(
    'Memory of the server (the kernel keeps its own part of a socket)',
    ['', 'sockets', 'resident before, MB', 'with them, MB', 'resident bytes a socket', 'of them in use on the heap'],
    memory.map(({ what, sockets, before, rss, heap }) => {
      return [what, sockets, before / 1e6, (before + rss) / 1e6, rss / sockets, heap / sockets];
    }),
  );
  for (const row of rows.filter(({ watched }) => watched)) {
    report.atMost(`p99 from answer to frame, ms: ${row.what}`, summary(row.fromDoneMs).p99, TARGET_P99_MS);
  }
}
