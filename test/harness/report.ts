import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Benchmarks run from dist/bench, as deep below the project as bench/. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RESULTS = 'bench/results';

type Table = {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
};
type Target = { readonly what: string; readonly value: number; readonly target: number; readonly reached: boolean };

export type Report = {
  /** Prints a table and keeps it for the results. */
  table(title: string, head: readonly string[], rows: readonly (readonly (string | number)[])[]): void;
  /** Prints a sentence and keeps it. */
  note(text: string): void;
  /** Judges a figure; a target that is missed is reported and is no failure. */
  atLeast(what: string, value: number, target: number): void;
  atMost(what: string, value: number, target: number): void;
  /** Something that makes the whole run worthless: an error, a time-out, a wrong answer. */
  failed(what: string): void;
  /** Writes <name>.md and .json into the folder of results; the process ends with 1 where anything failed. */
  close(): void;
};

/**
 * Collects what a benchmark has measured. With `--no-results` nothing is written, for short runs and for tests.
 *
 * @param versions of what was measured beside Node, such as the servers
 * @param folder of the results, from the project's
 */
export function openReport(
  name: string,
  versions: Readonly<Record<string, string>> = {},
  folder: string = RESULTS,
): Report {
  const lines: string[] = [];
  const tables: Table[] = [];
  const targets: Target[] = [];
  const problems: string[] = [];
  const say = (text: string) => {
    console.log(text);
    lines.push(text);
  };
  const judge = (what: string, value: number, target: number, reached: boolean) => {
    targets.push({ what, value, target, reached });
  };
  const machine = `${cpus().length} cores of ${cpus()[0]?.model ?? 'an unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()}`;
  const taken = { node: process.version, sameday: versionHere(), ...versions };
  const date = new Date().toISOString().slice(0, 10);
  say(
    `# ${name}\n\n${date}; ${machine}; ${Object.entries(taken)
      .map(([what, version]) => `${what} ${version}`)
      .join(', ')}`,
  );
  return {
    table(title, head, rows) {
      const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? figure(cell) : cell)));
      tables.push({ title, head, rows: cells });
      say(`\n## ${title}\n\n${markdown([head, head.map(() => '---'), ...cells])}`);
    },
    note: (text) => say(`\n${text}`),
    // A ratio to a peer that did nothing is no figure.
    atLeast: (what, value, target) => judge(what, value, target, Number.isFinite(value) && value >= target),
    atMost: (what, value, target) => judge(what, value, target, value <= target),
    failed(what) {
      if (problems.length < 20) problems.push(what);
    },
    close() {
      const rows = targets.map(({ what, value, target, reached }) => [
        what,
        figure(value),
        figure(target),
        reached ? 'yes' : 'no',
      ]);
      if (rows.length > 0) {
        say(
          `\n## Targets\n\n${markdown([['figure', 'measured', 'target', 'reached'], ['---', '---', '---', '---'], ...rows])}`,
        );
      }
      if (problems.length > 0) {
        process.exitCode = 1;
        say(`\nFAILED, so nothing above counts:\n${problems.map((what) => `- ${what}`).join('\n')}`);
      }
      if (process.argv.includes('--no-results')) return;
      const results = join(ROOT, folder);
      mkdirSync(results, { recursive: true });
      writeFileSync(join(results, `${name}.md`), `${lines.join('\n')}\n`);
      const all = { name, date, machine, versions: taken, tables, targets, problems };
      writeFileSync(join(results, `${name}.json`), `${JSON.stringify(all, null, 2)}\n`);
    },
  };
}

/** Three significant digits, and no more decimals than that needs. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function markdown(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))) ?? [];
  return rows
    .map(
      (row) =>
        `| ${row.map((cell, column) => (cell === '---' ? '-'.repeat(widths[column] ?? 3) : cell.padEnd(widths[column] ?? 0))).join(' | ')} |`,
    )
    .join('\n');
}

function versionHere(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}
