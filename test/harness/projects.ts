import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What takes a test longer than a moment: a process or a browser of its own, or the Postgres of the run. */
const STARTERS: ReadonlySet<string> = new Set(['node:child_process', 'playwright-core']);
const ASKS_FOR_POSTGRES = /^[^'"`]*\binject\('testPostgres'\)/m;
/** What starts a whole service or a browser. */
const STARTS_SERVICE = /^import (?!type )[^;]*\b(?:startBuiltService|startServiceHere|launchBrowser)\b/m;
/** The folders of tests of a whole service: elsewhere a file that could start one seldom does. */
const OF_SERVICES = /(?:^|\/)test\/(?:service|web)\//;
const MOCKS = /^vi\.mock\(/m;
const TAKES_COUNTS = /^import [^;]* from '[./]+\/harness\/counts\.ts';$/m;
/** An import for more than types, at once or later. */
const IMPORTS = /(?:^(?:import|export) (?!type )[^;'"]*?from |^import |\bimport\()'([^']+)'/gm;

type Source = { readonly starts: boolean; readonly startsService: boolean; readonly imports: readonly string[] };
const sources = new Map<string, Source>();

/**
 * Files that start a whole service and that `npm test` runs all the same, as they walk through all of it: the contract
 * and the life of an order over HTTP, one delivery on both pages, and what `npm start` shows. The others are more
 * than half of the work, and seldom the first to notice a mistake.
 */
const WALKS: readonly string[] = [
  'test/service/contract.test.ts',
  'test/service/delivery.test.ts',
  'test/service/demo.test.ts',
  'test/web/delivery.test.ts',
];

/**
 * `quick`: starts no server. `servers`: the other files of `npm test`. `services`: files of OF_SERVICES that start a
 * whole service or a browser. `slow`: what is named so. `npm run test:all` runs the last two beside `npm test`.
 */
export const PROJECTS = ['servers', 'quick', 'services', 'slow'] as const;
export type Project = (typeof PROJECTS)[number];

/** @throws {Error} if the file mocks a module, which the files that share its process would share */
export function projectOf(path: string): Project {
  if (MOCKS.test(readFileSync(path, 'utf8'))) throw new Error(`${path} mocks a module: spy on what it exports`);
  if (path.endsWith('.slow.test.ts')) return 'slow';
  const reached = reachedFrom(path);
  const isOfServices = OF_SERVICES.test(path) && !WALKS.includes(path);
  if (isOfServices && reached.some(({ startsService }) => startsService)) return 'services';
  return reached.some(({ starts }) => starts) ? 'servers' : 'quick';
}

/** Whether a file runs more in `npm run test:all` than in `npm test`. */
export const takesCounts = (path: string): boolean => TAKES_COUNTS.test(readFileSync(path, 'utf8'));

/** A file and those that it imports, directly or not. */
function reachedFrom(path: string): Source[] {
  const reached = new Set([path]);
  // A set grows while it is walked.
  for (const each of reached) for (const to of sourceOf(each).imports) reached.add(to);
  return [...reached].map(sourceOf);
}

function sourceOf(path: string): Source {
  const known = sources.get(path);
  if (known) return known;
  const text = readFileSync(path, 'utf8');
  const names = Array.from(text.matchAll(IMPORTS), ([, name = '']) => name);
  const source = {
    starts: names.some((name) => STARTERS.has(name)) || ASKS_FOR_POSTGRES.test(text),
    startsService: STARTS_SERVICE.test(text),
    // What is not there is named in a text of the test.
    imports: names
      .filter((name) => /^\..*\.ts$/.test(name))
      .map((name) => join(dirname(path), name))
      .filter((imported) => existsSync(imported)),
  };
  sources.set(path, source);
  return source;
}
