import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { projectOf, takesCounts } from './projects.ts';

const folder = mkdtempSync(join(tmpdir(), 'sameday-imports-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, ...lines: string[]): string {
  writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  return join(folder, name);
}

// A file in a wrong project fails a run, or makes it longer. What is tested here nobody would notice.
describe('a test file', () => {
  it('is in no project where it mocks a module, as files share processes', () => {
    const mocks = file('mock.test.ts', "vi.mock('./plain.ts', () => ({}));");
    expect(() => projectOf(mocks)).toThrow('mock.test.ts mocks a module');
  });

  it('is run once more with full counts where it takes them', () => {
    const takes = "import { runs } from '../harness/counts.ts';";
    expect(takesCounts(file('counts.test.ts', "import { it } from 'vitest';", takes))).toBe(true);
    expect(takesCounts(file('names-counts.test.ts', `const text = "${takes}";`))).toBe(false);
  });
});
