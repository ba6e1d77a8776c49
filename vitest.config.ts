import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/harness/longest-first.ts';
import { POLL_MS, TEST_MS } from './test/harness/patience.ts';
import { startsServers } from './test/harness/starts-servers.ts';

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((path) => `test/${path.replaceAll('\\', '/')}`)
  .filter((path) => path.endsWith('.test.ts'));

export default defineConfig({
  test: {
    testTimeout: TEST_MS,
    hookTimeout: TEST_MS,
    expect: { poll: { timeout: POLL_MS } },
    setupFiles: ['test/harness/checked-replies.ts'],
    // Most files wait for processes, so that a core serves several.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: LongestFirst },
    // A test that only passes the second time is a bug to be found.
    retry: 0,
    projects: [
      {
        extends: true,
        // These share processes, since no module keeps a state.
        test: { name: 'quick', include: files.filter((path) => !startsServers(path)), isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: files.filter(startsServers),
          // One Postgres for the run; each test file clones a database of its own.
          globalSetup: ['test/harness/global-setup.ts'],
        },
      },
    ],
  },
});
