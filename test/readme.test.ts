import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as limits from '../src/limits.ts';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** `| NAME | value | sentence |` for every bound, in the order of the file. */
function rowsOfLimits(): string[] {
  const source = readFileSync(join(root, 'src/limits.ts'), 'utf8');
  const values = limits as unknown as Record<string, unknown>;
  let sentence = '';
  const rows: string[] = [];
  for (const [, comment, name] of source.matchAll(/\/\*\*([\s\S]*?)\*\/|^export const (\w+)/gm)) {
    if (comment !== undefined) sentence = comment.replace(/\s*\n \*\s?/g, ' ').trim();
    if (name !== undefined) rows.push(`| \`${name}\` | ${show(values[name])} | ${sentence} |`);
  }
  return rows;
}

function show(value: unknown): string {
  return typeof value === 'number' ? value.toLocaleString('en-US') : `\`${JSON.stringify(value)}\``;
}

test('lists every bound of limits.ts with its value and its reason', () => {
  const table = /<!-- limits -->\n([\s\S]*?)\n<!-- \/limits -->/.exec(readme)?.[1];
  expect(table).toBe(['| bound | value | why |', '|---|---|---|', ...rowsOfLimits()].join('\n'));
});

test('names every setting that config.ts reads', () => {
  const config = readFileSync(join(root, 'src/config.ts'), 'utf8');
  const names = [...config.matchAll(/'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)'/g)].map((match) => match[1] ?? '');
  const settings = [...new Set(names)].filter((name) => name.length > 3);
  expect(settings.length).toBeGreaterThan(20);
  for (const name of settings) expect(readme).toContain(`\`${name}`);
});
