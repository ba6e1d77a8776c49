/**
 * What the README promises, under faults: `npm run faults -- [--row NAME] [--scale 0.1] [--seed 1]`. Each row starts the built
 * service on a Postgres and a Redis of its own, injects its fault as often as it says times the scale, and then compares
 * what the clients heard and the stand-ins did with what the tables say (checker.ts). The same seed makes the same
 * clients, orders and faults; what races what is up to the machine. Ends with 1 where anything was found.
 */
import { openReport } from '../../bench/support/report.ts';
import { seeded } from '../../bench/support/world.ts';
import { hasRedis } from '../support/redis.ts';
import type { Row, RowResult } from './row.ts';
import { ROWS } from './rows/index.ts';

const MOST_SHOWN = 20;

function option(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at >= 0 ? process.argv[at + 1] : undefined;
}

async function main(): Promise<void> {
  const only = option('row');
  const scale = Number(option('scale') ?? 1);
  const seed = Number(option('seed') ?? 1);
  const rows = ROWS.filter(
    ({ name, needsRedis }) => (only === undefined || name === only) && (!needsRedis || hasRedis()),
  );
  if (rows.length === 0) throw new Error(`There are only these rows: ${ROWS.map(({ name }) => name).join(', ')}`);
  const report = openReport(only === undefined ? 'faults' : `faults-${only}`);
  report.note(`Seed ${seed}, scale ${scale}.`);
  const table: (string | number)[][] = [];
  for (const row of rows) {
    const result = await row.run(Math.max(1, Math.round(row.count * scale)), seeded(seed));
    table.push(told(row, result));
    for (const note of result.notes ?? []) report.note(`${row.name}: ${note}`);
    for (const finding of result.findings.slice(0, MOST_SHOWN)) report.failed(`${row.name}: ${finding}`);
  }
  const head = ['row', 'fault', 'times', 'orders', 'findings', 'ready again: p50 ms', 'most ms'];
  report.table('Faults', head, table);
  report.close();
}

function told({ name, what }: Row, { count, orders, findings, recoveries }: RowResult): (string | number)[] {
  const sorted = recoveries.toSorted((a, b) => a - b);
  const at = (index: number): string => sorted.at(index)?.toFixed(0) ?? '–';
  return [name, what, String(count), String(orders), String(findings.length), at(sorted.length >> 1), at(-1)];
}

await main();
