import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { driverShell } from '../../src/driver-app/shell.ts';
import { DRIVER_EN, type DriverText } from '../../src/words/driver-en.ts';
import type { Text } from '../../src/words/words.ts';

const WEB = join(import.meta.dirname, '../../src/web/driver');
const SOURCES = [WEB, join(WEB, '../shared')].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => /\.ts$/.test(name))
    .map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const),
);
const KEYS = Object.keys(DRIVER_EN) as DriverText[];
const SHELL = driverShell({ script: 's.js', style: 's.css', icon: 'i.svg', touchIcon: 'i.png' }, true);

const forms = (text: Text): string[] => (typeof text === 'string' ? [text] : [text.one, text.other]);

test('every text is spoken somewhere', () => {
  const shell = readFileSync(join(WEB, '../../driver-app/shell.ts'), 'utf8');
  const code = [SHELL, shell, ...SOURCES.map(([, text]) => text)].join('\n');
  const families = /^(did|refused|tier)_/;
  const unspoken = KEYS.filter((key) => !families.test(key) && !new RegExp(`['"]${key}['"]`).test(code));
  expect(unspoken).toEqual([]);
});

test('no text of the page stands outside of the catalogue', () => {
  for (const [name, source] of SOURCES) {
    const code = source
      .replaceAll(/\/\*[\s\S]*?\*\//g, '')
      .replaceAll(/\/\/.*$/gm, '')
      .replaceAll(/^import .*$/gm, '')
      .replaceAll(/new Error\(.*\)/g, '');
    // Two words, or one that begins a sentence, in quotes.
    const texts = [...code.matchAll(/'((?:[A-Za-zÀ-ÿ’]+[,.]? )+[A-Za-zÀ-ÿ’]+[.?!]?|[A-Z][a-z]+[.?!])'/g)];
    expect(
      texts.map(([, text]) => text),
      name,
    ).toEqual([]);
  }
  const spoken = SHELL.replace(/<span [^>]*data-say="\w+"[^>]*>[^<]*<\/span>/g, '')
    .replace(/<title>[^<]*<\/title>/, '')
    .replace(/<(noscript|script)>.*<\/\1>/g, '')
    .replace(/<span lang="es">[^<]*<\/span>/, '');
  expect(spoken.replaceAll(/<[^>]*>/g, '').trim()).toBe('Sameday');
  const attributes = [...spoken.matchAll(/ (?:alt|title|aria-label|placeholder)="([^"]*)"/g)].map(([, text]) => text);
  expect(attributes.filter((text) => !KEYS.some((key) => DRIVER_EN[key] === text))).toEqual(['sdd_…']);
});

test('the markup speaks English by the keys by which the script finds it', () => {
  const said = [...SHELL.matchAll(/<span [^>]*data-say="(\w+)"[^>]*>([^<]*)<\/span>/g)];
  expect(said.length).toBeGreaterThan(40);
  for (const [, key = '', text] of said) {
    const english: Text = DRIVER_EN[key as DriverText];
    expect(text).toBe(forms(english)[0]?.replace('{minutes}', '10'));
  }
});
