/**
 * Tests the README's promises under faults: `npm run faults -- [--row NAME | --from NAME] [--scale 0.1]
 * [--seed 1] [--beside FOLDER] [--no-results]`. Each row starts the built service on its own Postgres and Redis, injects
 * its fault as often as it says times the scale, and compares what the clients heard and the stand-ins did with
 * the tables (checker.ts). The same seed makes the same clients, orders and faults, in a whole run and in a
 * row of its own; the outcome of races is up to the machine. A row that breaks is a finding, and the others
 * go on. Exits with 1 where anything was found; the report is in test/faults/results.
 */

import { basename } from 'node:path';
import { exitWith, OF_FAULTS, readOptions } from '../../scripts/options.mjs';
import { hasHaproxy } from '../harness/haproxy.ts';
import { PROGRAMS } from '../harness/live-database.ts';
import { hasRedis } from '../harness/redis.ts';
import { openReport } from '../harness/report.ts';
import { seeded } from '../harness/world.ts';
import { missingForCluster, missingForPause } from './cluster.ts';
import { missingForNetwork } from './network.ts';
import type { Need, Row, RowResult } from './row.ts';
import { ROWS } from './rows/index.ts';

const RESULTS = 'test/faults/results';
const MOST_SHOWN = 20;
const HEAD = ['row', 'fault', 'times', 'orders', 'findings', 'ready again: p50 ms', 'most ms', 'took s'];

type Told = RowResult & { readonly row: Row; readonly seconds: number };

const USAGE = `npm run faults -- [--row NAME | --from NAME] [--scale 0.1] [--seed 1] [--beside COMMIT] [--no-results]
Rows: ${ROWS.map(({ name }) => name).join(' ')}`;
const options = readOptions(OF_FAULTS, USAGE);

/** Reads a figure; anything but a positive number stops the run before anything is opened. */
function figureOf(name: 'scale' | 'seed'): number {
  const value = Number(options[name] ?? 1);
  return value > 0 ? value : exitWith(USAGE);
}

async function main(): Promise<void> {
  const { row: only, from } = options;
  const scale = figureOf('scale');
  const seed = figureOf('seed');
  const first = from === undefined ? 0 : ROWS.findIndex(({ name }) => name === from);
  const named = first < 0 ? [] : ROWS.slice(first).filter(({ name }) => only === undefined || name === only);
  if (named.length === 0) exitWith(USAGE);
  const lacks: Readonly<Record<Need, string | undefined>> = {
    redis: hasRedis() ? undefined : 'Redis',
    haproxy: hasHaproxy() ? undefined : 'HAProxy',
    beside: options.beside === undefined ? '--beside' : undefined,
    cluster: missingForCluster().join(', of ') || undefined,
    pause: missingForPause(),
    backups: PROGRAMS === undefined ? "Debian's Postgres with PostGIS, for pg_basebackup" : undefined,
    network: missingForNetwork(),
  };
  const lackedBy = ({ needs = [] }: Row) => needs.flatMap((need) => lacks[need] ?? []);
  const rows = named.filter((row) => lackedBy(row).length === 0);
  const report = openReport(only === undefined ? 'faults' : `faults-${only}`, {}, RESULTS);
  const before = options.beside === undefined ? '' : ` The build before is ${basename(options.beside)}.`;
  report.note(`Seed ${seed}, scale ${scale}.${before}`);
  const left = named.filter((row) => !rows.includes(row));
  const wants = [...new Set(left.flatMap(lackedBy))].join(', of ');
  if (left.length > 0) report.note(`Not run, for want of ${wants}: ${left.map(({ name }) => name).join(', ')}.`);
  const startedMs = performance.now();
  const all: Told[] = [];
  for (const row of rows) {
    const told = await runRow(row, scale, seed);
    all.push(told);
    const { count, findings, seconds, notes = [] } = told;
    for (const note of notes) report.note(`${row.name}: ${note}`);
    console.log(`\n${row.name}: ${count} times, ${findings.length} findings, ${seconds.toFixed(1)} s, seed ${seed}`);
    for (const finding of findings.slice(0, MOST_SHOWN)) {
      console.log(`- ${finding}`);
      report.failed(`${row.name}: ${finding}`);
    }
  }
  report.table('Faults', HEAD, all.map(cells));
  for (const { row, notes = [] } of all) for (const note of notes) report.note(`${row.name}: ${note}`);
  const found = all.reduce((sum, { findings }) => sum + findings.length, 0);
  const minutes = (performance.now() - startedMs) / 60_000;
  report.note(`${all.length} rows in ${minutes.toFixed(1)} minutes, ${found} findings; seed ${seed}, scale ${scale}.`);
  report.close();
}

/** A row that breaks counts no faults; the error is its finding. */
async function runRow(row: Row, scale: number, seed: number): Promise<Told> {
  const count = Math.max(1, Math.round(row.count * scale));
  const startedMs = performance.now();
  const result = await row.run(count, seeded(seed), scale, options.beside).catch((error: unknown): RowResult => {
    console.error(error);
    return { count: 0, orders: 0, findings: [`row: it ended by an error: ${String(error)}`] };
  });
  return { ...result, row, seconds: (performance.now() - startedMs) / 1_000 };
}

function cells({ row, count, orders, findings, recoveries = [], seconds }: Told): (string | number)[] {
  const sorted = recoveries.toSorted((a, b) => a - b);
  const at = (index: number): string => sorted.at(index)?.toFixed(0) ?? '–';
  const { name, what } = row;
  return [
    name,
    what,
    String(count),
    String(orders),
    String(findings.length),
    at(sorted.length >> 1),
    at(-1),
    seconds.toFixed(1),
  ];
}

await main();
