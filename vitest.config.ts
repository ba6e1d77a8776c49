import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // One Postgres for the run; each test file clones a database of its own.
    globalSetup: ['test/harness/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A test that only passes the second time is a bug to be found.
    retry: 0,
  },
});
