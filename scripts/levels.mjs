// Part of `npm run lint`: folders of src are levels, and a file imports only from its own folder and from lower levels.
// Folders of one level do not import each other, and no files import each other in a circle, types included.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { ROOT } from './prepare.mjs';

const SRC = join(ROOT, 'src');
/** From the lowest. An entry is a folder with all that is in it, or a file at the top. */
const LEVELS = [
  ['limits.ts', 'with-timeout.ts', 'shared-read.ts', 'error-place.ts'],
  ['telemetry.ts'],
  ['geo', 'words'],
  ['domain'],
  ['spatial-index', 'postgres', 'transport', 'vendors'],
  ['matcher', 'planner', 'store', 'bus', 'pages', 'embedded', 'config.ts'],
  ['queues'],
  ['dispatch'],
  ['http'],
  ['runtime'],
  ['cli'],
  ['photos', 'payments', 'texts', 'events', 'planning', 'tracking', 'driver-app'],
  ['sandbox'],
  ['app'],
  ['commands'],
  ['main.ts', 'cli.ts'],
];
/** Browser code, which imports by rules of its own: the words and what both sides share. */
const APART = 'web';
const IMPORT = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.startsWith(`${APART}/`));
const imports = new Map(files.map((file) => [file, importsOf(file)]));
const faults = [...files.flatMap(upward), ...circles()];
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;

/** The files of src that a file imports. */
function importsOf(file) {
  const text = readFileSync(join(SRC, file), 'utf8');
  const targets = [...text.matchAll(IMPORT)].map(([, path]) =>
    relative(SRC, normalize(join(SRC, dirname(file), path))),
  );
  return targets.map((path) => path.replaceAll('\\', '/')).filter((path) => files.includes(path));
}

function upward(file) {
  const place = placeOf(file);
  if (place === undefined) return [`src/${file}: its folder has no level in scripts/levels.mjs`];
  return (imports.get(file) ?? [])
    .filter((target) => !isBelow(placeOf(target), place))
    .map((target) => `src/${file} imports src/${target}, which is not on a lower level (docs/architecture.md)`);
}

function isBelow(target, from) {
  return target !== undefined && (target.name === from.name || target.level < from.level);
}

function placeOf(file) {
  const name = file.split('/')[0];
  const level = LEVELS.findIndex((names) => names.includes(name));
  return level === -1 ? undefined : { name, level };
}

/** Each circle once, by the files that close it. */
function circles() {
  const found = [];
  const done = new Set();
  const path = [];
  const visit = (file) => {
    if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file].join(' → '));
    if (path.includes(file) || done.has(file)) return;
    path.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of files) visit(file);
  return found.map((circle) => `a circle of imports: ${circle}`);
}
