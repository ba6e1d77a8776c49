import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transform } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { anchors, blocks, codes, PAGES, page, ROOT, targets, withoutBlocks } from './markdown.ts';

const MAX_COLUMNS = 110;
const MAX_README_LINES = 200;
const MAX_IMAGE_BYTES = 150 * 1024;

test('the README is one page', () => {
  expect(page('README.md').split('\n').length).toBeLessThanOrEqual(MAX_README_LINES);
});

describe.each(PAGES)('$path', ({ path, text }) => {
  test('has short lines outside of tables, code and links', () => {
    const prose = withoutBlocks(text).split('\n');
    const long = prose.filter((line) => line.length > MAX_COLUMNS && !/^\s*\||\]\(|https?:|^<img/.test(line));
    expect(long).toEqual([]);
  });

  test('links to what is there', () => {
    const local = targets(text).filter((target) => !/^https?:/.test(target));
    const broken = local.filter((target) => {
      const [file = '', anchor] = target.split('#');
      const found = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(ROOT, found))) return true;
      return anchor !== undefined && !anchors(page(found)).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  test('names files that are there', () => {
    const named = codes(text).filter((code) =>
      /^(?:src|test|bench|scripts|migrations|docs|\.ci)\/[\w./-]*$/.test(code),
    );
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test('names what the file has in which it says that it is', () => {
    const named = [...text.matchAll(/`(\w+)`\s+in\s+`((?:src|test|bench|migrations)\/[\w./-]+)`/g)];
    const lost = named.filter(
      ([, name, file = '']) => !new RegExp(`\\b${name}\\b`).test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(lost.map(([words]) => words)).toEqual([]);
  });

  test('speaks of nobody as he or she', () => {
    expect(withoutBlocks(text).match(/\b(?:he|him|his|she|her|hers)\b/gi) ?? []).toEqual([]);
  });

  test('has JSON and JavaScript that parse', async () => {
    for (const json of blocks(text, 'json')) expect(() => JSON.parse(json), json).not.toThrow();
    for (const js of blocks(text, 'js')) await transform(js, { loader: 'js', format: 'esm' });
  });

  test('shows small images', () => {
    const images = targets(text).filter((target) => /\.png$/.test(target));
    for (const image of images) {
      expect(statSync(join(ROOT, dirname(path), image)).size).toBeLessThanOrEqual(MAX_IMAGE_BYTES);
    }
  });
});
