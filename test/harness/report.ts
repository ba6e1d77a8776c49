import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder from here and from dist/bench, where benchmarks run. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RESULTS = 'bench/results';

type Table = {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
};
type Target = { readonly what: string; readonly value: number; readonly target: number; readonly reached: boolean };

export type Report = {
  /** Prints a table and adds it to the results. */
  table(title: string, head: readonly string[], rows: readonly (readonly (string | number)[])[]): void;
  /** Prints a sentence and adds it to the results. */
  note(text: string): void;
  /** Compares a figure with its target; a missed target is reported and is no failure. */
  atLeast(what: string, value: number, target: number): void;
  atMost(what: string, value: number, target: number): void;
  /** Adds a failure that invalidates the run: an error, a time-out, a wrong answer. */
  failed(what: string): void;
  /** Writes `<name>.md` and `.json` into the folder of results; the exit code is 1 if anything failed. */
  close(): void;
};

/**
 * Collects the figures of a benchmark. With `--no-results` nothing is written, for short runs and for tests.
 *
 * @param versions those of measured programs besides Node, such as servers
 * @param folder the folder of the results, below the project's
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
  const machine = machineHere();
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
    // A ratio to a peer of rate 0 is left out.
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

/** A number with three significant digits and no more decimals than needed. */
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

/** The machine in a few words. */
export function machineHere(): string {
  const model = cpus()[0]?.model ?? 'an unknown processor';
  return `${cpus().length} cores of ${model}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()}`;
}

/** The version of this project. */
export function versionHere(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}
