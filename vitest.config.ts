import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { isFull } from './test/harness/counts.ts';
import { LongestFirst } from './test/harness/longest-first.ts';
import { LOOK_MS, POLL_MS, TEST_MS } from './test/harness/patience.ts';
import { projectOf, takesCounts } from './test/harness/projects.ts';

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((path) => `test/${path.replaceAll('\\', '/')}`)
  .filter((path) => path.endsWith('.test.ts'));
const filesOf = (name: string) => files.filter((path) => projectOf(path) === name);
const project = (name: string, include: string[], options: ProjectOptions = {}) => {
  return { extends: true as const, test: { name, include, ...options } };
};
type ProjectOptions = { globalSetup?: string[] };
/** One Postgres for the run; each test file clones a database of its own. */
const globalSetup = ['test/harness/global-setup.ts'];

/** `npm test`: one project is one set of processes and of transformed modules, which quick files share too. */
const isWhole = process.env.WHOLE_RUN === '1';

export default defineConfig({
  test: {
    testTimeout: TEST_MS,
    hookTimeout: TEST_MS,
    expect: { poll: { timeout: POLL_MS, interval: LOOK_MS } },
    setupFiles: ['test/harness/checked-replies.ts', 'test/harness/seeded-properties.ts'],
    // Most files wait for processes, so that a core serves several.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: LongestFirst },
    // A test that only passes the second time is a bug to be found.
    retry: 0,
    // Files of a project share processes, and what these have loaded, since no module keeps a state.
    isolate: false,
    projects: [
      ...(isWhole ? [] : [project('quick', filesOf('quick'))]),
      project('servers', [...filesOf('servers'), ...(isWhole ? filesOf('quick') : [])], { globalSetup }),
      project('services', filesOf('services'), { globalSetup }),
      project('slow', filesOf('slow'), { globalSetup }),
      ...(isFull ? [project('counted', files.filter(takesCounts), { globalSetup })] : []),
    ],
  },
});
