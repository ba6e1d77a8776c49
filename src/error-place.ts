import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Of each file of a bundle, the sources in it: the line where one begins, and its path, in the order of lines. */
type Sources = Readonly<Record<string, readonly (readonly [line: number, path: string])[]>>;

const FRAME = /^ {4}at (?:async )?(?:(.+) \()?(?:file:\/\/)?(\/.+):(\d+):(\d+)\)?$/;

/** The bundle's folder; that of the sources where they run as they are. */
const FOLDER = new URL('.', import.meta.url);
let sources: Sources | undefined;

/**
 * The first place of a stack that is in the project: function, source, and the line, which is the bundle's where the
 * service runs from one. Undefined where all lines are of Node or of packages.
 */
export function placeInProject(stack: readonly string[]): string | undefined {
  for (const frame of stack) {
    const place = placeOf(frame);
    if (place !== undefined) return place;
  }
  return undefined;
}

function placeOf(frame: string): string | undefined {
  const [, name, path = '', line = '', column = ''] = FRAME.exec(frame) ?? [];
  if (path === '' || path.includes('/node_modules/')) return undefined;
  sources ??= readSources(fileURLToPath(FOLDER));
  const file = path.replace(FOLDER.pathname, '');
  const source = sourceAt(sources, file, Number(line));
  // Before the first source are the bundler's own functions.
  if (file in sources && !source?.startsWith('src/')) return undefined;
  const place = `${file.replace(/.*\/(?=(?:dist|src)\/)/, '')}:${line}:${column}`;
  const where = source ? `${source}, ${place}` : place;
  return name ? `${name} (${where})` : where;
}

/** The source of a line, from 1, of a bundle's file; undefined where the table has none. */
export const sourceAt = (of: Sources, file: string, line: number): string | undefined =>
  of[file]?.findLast(([first]) => first <= line)?.[1];

/** Reads what scripts/build-service.mjs wrote into a bundle's folder; a table of nothing where there is none. */
export function readSources(folder: string): Sources {
  try {
    return JSON.parse(readFileSync(join(folder, 'sources.json'), 'utf8')) as Sources;
  } catch {
    return {};
  }
}
