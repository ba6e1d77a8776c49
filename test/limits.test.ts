import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, transformSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import * as limits from '../src/limits.ts';

const root = join(import.meta.dirname, '..');
const source = readFileSync(join(root, 'src/limits.ts'), 'utf8');
const code = transformSync(source, { loader: 'ts', format: 'esm' }).code;

/** Every bound with the comment that stands directly above it. */
const documented = Array.from(
  source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport const (\w+)/g),
  ([, comment = '', name = '']) => ({ name, sentence: comment.replace(/\s*\n \*\s?/g, ' ').trim() }),
);

/** Loads the file with another value of one bound, as a start would. */
function loadWith(name: string, value: string): Promise<unknown> {
  const changed = code.replace(new RegExp(`^(?:export )?const ${name} = [^;]+;$`, 'm'), `const ${name} = ${value};`);
  expect(changed).not.toBe(code);
  return import(/* @vite-ignore */ `data:text/javascript;base64,${Buffer.from(changed).toString('base64')}`);
}

test('every bound has a sentence of its own', () => {
  expect(documented.map(({ name }) => name).toSorted()).toEqual(Object.keys(limits).toSorted());
  const sentences = documented.map(({ sentence }) => sentence);
  expect(new Set(sentences).size).toBe(sentences.length);
  for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z`].*\.$/);
});

describe('a relation that a comment states is checked when the file is loaded', () => {
  const tooLarge = documented.filter(({ sentence }) => /Below |At most |\bbelow [A-Z_]{6,}/.test(sentence));
  const tooSmall = documented.filter(({ sentence }) => /Above |At least |\babove [A-Z_]{6,}/.test(sentence));
  expect(tooLarge.length).toBeGreaterThan(30);
  expect(tooSmall.length).toBeGreaterThan(15);

  test.each(tooLarge)('$name has an upper bound', async ({ name }) => {
    await expect(loadWith(name, '1e15')).rejects.toThrow(name);
  });
  test.each(tooSmall)('$name has a lower bound', async ({ name }) => {
    await expect(loadWith(name, name === 'TEXT_LOOKUP_SECONDS' ? '[0, 0]' : '0')).rejects.toThrow(name);
  });
});

test('a broken relation names both bounds and their values', async () => {
  await expect(loadWith('STATEMENT_TIMEOUT_MS', '6000')).rejects.toThrow(
    'limits.ts: STATEMENT_TIMEOUT_MS (6000) must be below QUERY_DEADLINE_MS (5000)',
  );
});

test('a page that uses a bound carries that figure and nothing else of the file', async () => {
  const contents = `import { POSITION_FRESH_MS } from './src/limits.ts';\nconsole.log(POSITION_FRESH_MS);`;
  const stdin = { contents, resolveDir: root, loader: 'ts' } as const;
  const { outputFiles } = await build({ stdin, bundle: true, minify: true, write: false, format: 'esm' });
  expect(outputFiles[0]?.text.trim()).toBe('console.log(9e4);');
});

test('the schema allows as many payment attempts as the service makes', () => {
  const schema = readFileSync(join(root, 'migrations/0001_orders.sql'), 'utf8');
  expect(schema).toContain(`attempt between 1 and ${limits.MAX_PAYMENT_ATTEMPTS})`);
});
