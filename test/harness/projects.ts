import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What takes a test longer than a moment: a process or a browser of its own, or the Postgres of the run. */
const STARTERS: ReadonlySet<string> = new Set(['node:child_process', 'playwright-core']);
const ASKS_FOR_POSTGRES = /^[^'"`]*\binject\('testPostgres'\)/m;
const MOCKS = /^vi\.mock\(/m;
const TAKES_COUNTS = /^import [^;]* from '[./]+\/harness\/counts\.ts';$/m;
/** An import for more than types, at once or later. */
const IMPORTS = /(?:^(?:import|export) (?!type )[^;'"]*?from |^import |\bimport\()'([^']+)'/gm;

type Source = { readonly starts: boolean; readonly imports: readonly string[] };
const sources = new Map<string, Source>();

/**
 * `quick`: starts no server. `servers`: the other files of `npm test`. `slow`: what `npm run test:all` runs beside
 * `npm test`.
 */
export const PROJECTS = ['servers', 'quick', 'slow'] as const;
export type Project = (typeof PROJECTS)[number];

/** @throws {Error} if the file mocks a module, which the files that share its process would share */
export function projectOf(path: string): Project {
  if (MOCKS.test(readFileSync(path, 'utf8'))) throw new Error(`${path} mocks a module: spy on what it exports`);
  if (path.endsWith('.slow.test.ts')) return 'slow';
  return startsServers(path) ? 'servers' : 'quick';
}

/** Whether a file runs more in `npm run test:all` than in `npm test`. */
export const takesCounts = (path: string): boolean => TAKES_COUNTS.test(readFileSync(path, 'utf8'));

/** Whether a file or one that it imports, directly or not, starts a server. */
export function startsServers(path: string): boolean {
  const reached = new Set([path]);
  // A set grows while it is walked.
  for (const each of reached) {
    const { starts, imports } = sourceOf(each);
    if (starts) return true;
    for (const to of imports) reached.add(to);
  }
  return false;
}

function sourceOf(path: string): Source {
  const known = sources.get(path);
  if (known) return known;
  const text = readFileSync(path, 'utf8');
  const names = Array.from(text.matchAll(IMPORTS), ([, name = '']) => name);
  const source = {
    starts: names.some((name) => STARTERS.has(name)) || ASKS_FOR_POSTGRES.test(text),
    // What is not there is named in a text of the test.
    imports: names
      .filter((name) => /^\..*\.ts$/.test(name))
      .map((name) => join(dirname(path), name))
      .filter((imported) => existsSync(imported)),
  };
  sources.set(path, source);
  return source;
}
