import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { transformSync } from 'esbuild';
import { atMost, below } from '../../src/limits.ts';

const SOURCE = join(import.meta.dirname, '../../src');
const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(SOURCE, name), 'utf8') }));

export type Bound = { readonly name: string; readonly file: string; readonly value: string; readonly sentence: string };

/** Every bound of the source: a figure, or a list of them, with a comment directly above it. */
export const BOUNDS: readonly Bound[] = files.flatMap(({ name: file, text }) =>
  Array.from(
    text.matchAll(
      /^\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n(?:export )?const ([A-Z][A-Z0-9_]+) =((?:[-\s\w.*+/()[\]{},:]+));$/gm,
    ),
    ([, comment = '', name = '', value = '']) => ({
      name,
      file,
      value: value.trim(),
      sentence: comment.replace(/\s*\n \*\s?/g, ' ').trim(),
    }),
  ),
);

/** Every constant that looks like a bound, by its file: no unit by itself. The pages have some without a comment. */
export const FIGURES: readonly { readonly name: string; readonly file: string }[] = files
  .filter(({ name }) => !name.startsWith('web/'))
  .flatMap(({ name: file, text }) =>
    Array.from(
      text.matchAll(
        /^(?:export )?const ((?:MAX|MIN|DEFAULT)_\w+|(?!MINUTE|HOUR|DAY|WEEK)[A-Z0-9_]+_(?:MS|SECONDS|DAYS|ROWS)) =\s+[\dA-Z(]/gm,
      ),
      ([, name = '']) => ({ name, file }),
    ),
  );

/** The relations that the source asserts. */
export const ASSERTED: readonly string[] = files.flatMap(({ text }) =>
  Array.from(text.matchAll(/^(?:\/\* @__PURE__ \*\/ )?(?:below|atMost)\([\s\S]*?\);$/gm), ([relation]) => relation),
);

const values = new Map(BOUNDS.map(({ name, value }) => [name, value]));

/** The declarations that a code needs, each behind those that it is made of. */
function declarations(code: string, changed: ReadonlyMap<string, string>, known: Set<string>): string[] {
  return [...code.matchAll(/\b[A-Z][A-Z0-9_]+\b/g)].flatMap(([name]) => {
    const value = changed.get(name) ?? values.get(name);
    if (value === undefined || known.has(name)) return [];
    known.add(name);
    return [...declarations(value, changed, known), `const ${name} = ${value};`];
  });
}

/** Asserts relations, as a start would with other values of some bounds. */
export function assertAll(relations: readonly string[], changed: ReadonlyMap<string, string> = new Map()): void {
  const code = [...declarations(relations.join('\n'), changed, new Set()), ...relations].join('\n');
  runInNewContext(transformSync(code, { loader: 'ts' }).code, { atMost, below });
}
