import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { projectOf, takesCounts } from './projects.ts';

const folder = mkdtempSync(join(tmpdir(), 'sameday-imports-'));
for (const name of ['service', 'web']) mkdirSync(join(folder, 'test', name), { recursive: true });
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, ...lines: string[]): string {
  writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  return join(folder, name);
}

file('starts.ts', "import { spawn } from 'node:child_process';");
file('browser.ts', 'import {', '  chromium,', "} from 'playwright-core';");
file('passes-on.ts', "export { start } from './starts.ts';");
file('circle.ts', "import { back } from './back.ts';", "import { start } from './starts.ts';");
file('service.ts', 'import {', '  startServiceHere,', "} from '../harness/service-here.ts';");
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
    expect(projectOf(file(`${how.replaceAll(' ', '-')}.test.ts`, ...lines))).toBe('servers');
  });

  it('starts none where it imports types alone, or nothing that does', () => {
    expect(projectOf(file('types.test.ts', "import type { Child } from './starts.ts';"))).toBe('quick');
    file('plain.ts', 'export const plain = 1;');
    expect(projectOf(file('plain.test.ts', "import { plain } from './plain.ts';"))).toBe('quick');
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
    ['services', 'test/service/built.test.ts', "import { startBuiltService } from '../harness/service.ts';"],
    ['services', 'test/web/page.test.ts', "import { useService } from '../../service.ts';"],
    ['servers', 'elsewhere.test.ts', "import { useService } from './service.ts';", starts],
    ['slow', 'load.slow.test.ts', starts],
  ])('is %s', (project, name, ...lines) => {
    expect(projectOf(file(name, ...lines))).toBe(project);
  });

  it('is that of npm test where a walk through the whole service is', () => {
    expect(['contract', 'delivery', 'demo'].map((name) => projectOf(`test/service/${name}.test.ts`))).toEqual(
      Array(3).fill('servers'),
    );
    expect(projectOf('test/web/delivery.test.ts')).toBe('servers');
    expect(projectOf('test/service/two-processes.test.ts')).toBe('services');
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
