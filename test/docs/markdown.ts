import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** A page of documentation by its path below the project. */
export type Page = { readonly path: string; readonly text: string };

export const PAGES: readonly Page[] = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

export function page(path: string): string {
  const found = PAGES.find((each) => each.path === path);
  if (!found) throw new Error(`there is no page ${path}`);
  return found.text;
}

const FENCE = /^ *```(\w*)\n([\s\S]*?)^ *```$/gm;

/** The fenced blocks of a language. */
export function blocks(text: string, language: string): string[] {
  return [...text.matchAll(FENCE)].flatMap(([, named, code = '']) => (named === language ? [code] : []));
}

export function withoutBlocks(text: string): string {
  return text.replaceAll(FENCE, '');
}

/** What stands between backticks, outside of fenced blocks. */
export function codes(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));
}

/** The rows of all tables as cells, headers included. */
export function rows(text: string): string[][] {
  return withoutBlocks(text)
    .split('\n')
    .filter((line) => line.trimStart().startsWith('|') && !/^[|\s:-]+$/.test(line))
    .map((line) =>
      line
        .trim()
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

/** The part of a page below a heading, as far as the next one of the same or a higher rank. */
export function section(text: string, heading: string): string {
  const start = text.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`there is no heading ${heading}`);
  const rank = heading.indexOf(' ');
  const rest = text.slice(start + heading.length + 2);
  const end = rest.search(new RegExp(`^#{1,${rank}} `, 'm'));
  return end < 0 ? rest : rest.slice(0, end);
}

/** What the links and images of a page lead to. */
export function targets(text: string): string[] {
  const prose = withoutBlocks(text);
  const linked = [...prose.matchAll(/\]\(([^)\s]+)\)/g), ...prose.matchAll(/ (?:src|href)="([^"]+)"/g)];
  return linked.map(([, target = '']) => target);
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchors(text: string): Set<string> {
  const headings = [...withoutBlocks(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
