import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { projectOf, startsServers, takesCounts } from './projects.ts';

const folder = mkdtempSync(join(tmpdir(), 'sameday-imports-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, ...lines: string[]): string {
  writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  return join(folder, name);
}

file('starts.ts', "import { spawn } from 'node:child_process';");
file('browser.ts', 'import {', '  chromium,', "} from 'playwright-core';");
file('passes-on.ts', "export { start } from './starts.ts';");
file('circle.ts', "import { back } from './back.ts';", "import { start } from './starts.ts';");
file('back.ts', "import { round } from './circle.ts';");

describe('a test file', () => {
  it.each([
    ['itself', "import { execFile } from 'node:child_process';"],
    ['by what it imports', 'import {', '  start,', "} from './starts.ts';"],
    ['by what that imports', "import { start } from './passes-on.ts';"],
    ['by an import for its effects', "import './starts.ts';"],
    ['by an import at run time', "const { start } = await import('./starts.ts');"],
    ['by a browser', "import { open } from './browser.ts';"],
    ['by imports in a circle', "import { back } from './back.ts';"],
  ])('starts servers %s', (how, ...lines) => {
    expect(startsServers(file(`${how.replaceAll(' ', '-')}.test.ts`, ...lines))).toBe(true);
  });

  it('starts none where it imports types alone, or nothing that does', () => {
    expect(startsServers(file('types.test.ts', "import type { Child } from './starts.ts';"))).toBe(false);
    file('plain.ts', 'export const plain = 1;');
    expect(startsServers(file('plain.test.ts', "import { plain } from './plain.ts';"))).toBe(false);
  });

  it('has the seed of all properties', () => {
    expect(fc.readConfigureGlobal()).toEqual({ seed: expect.any(Number) });
  });
});

describe('the project of a test file', () => {
  const starts = "import { start } from './starts.ts';";

  it.each([
    ['quick', 'plain.test.ts', "import { plain } from './plain.ts';"],
    ['servers', 'server.test.ts', starts],
    ['slow', 'load.slow.test.ts', starts],
  ])('is %s', (project, name, ...lines) => {
    expect(projectOf(file(name, ...lines))).toBe(project);
  });

  it('is none where it mocks a module, as files share processes', () => {
    const mocks = file('mock.test.ts', starts, "vi.mock('./plain.ts', () => ({}));");
    expect(() => projectOf(mocks)).toThrow('mock.test.ts mocks a module');
  });

  it('is run once more with full counts where it takes them', () => {
    const takes = "import { runs } from '../harness/counts.ts';";
    expect(takesCounts(file('counts.test.ts', "import { it } from 'vitest';", takes))).toBe(true);
    expect(takesCounts(file('names-counts.test.ts', `const text = "${takes}";`))).toBe(false);
  });
});
