import { readFileSync } from 'node:fs';

/** Of each file of the bundle, the sources in it: the line where one begins, and its path, in the order of lines. */
type Sources = Readonly<Record<string, readonly (readonly [line: number, path: string])[]>>;

const FRAME = /^ {4}at (?:async )?(?:(.+) \()?(?:file:\/\/)?(\/.+):(\d+):(\d+)\)?$/;

/** The bundle's folder; that of the sources where they run as they are. */
const FOLDER = new URL('.', import.meta.url).pathname;
let sources: Sources | undefined;

/**
 * The function and the file of a stack's line, and the line in the bundle where the service runs from one; undefined for
 * a line of Node or of a package.
 */
export function placeInProject(frame: string): string | undefined {
  const [, name, path = '', line = '', column = ''] = FRAME.exec(frame) ?? [];
  if (path === '' || path.includes('/node_modules/')) return undefined;
  sources ??= readSources();
  const file = path.replace(FOLDER, '');
  const inBundle = sources[file];
  const source = inBundle?.findLast(([first]) => first <= Number(line))?.[1];
  // Before the first source are the bundler's own functions.
  if (inBundle && !source?.startsWith('src/')) return undefined;
  const place = `${file.replace(/.*\/(?=(?:dist|src)\/)/, '')}:${line}:${column}`;
  const where = source ? `${source}, ${place}` : place;
  return name ? `${name} (${where})` : where;
}

/** Reads what scripts/build-service.mjs wrote beside the bundle. It is there only where the bundle runs. */
function readSources(): Sources {
  try {
    return JSON.parse(readFileSync(new URL('sources.json', import.meta.url), 'utf8')) as Sources;
  } catch {
    return {};
  }
}
