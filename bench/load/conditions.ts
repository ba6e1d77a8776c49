import { statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import type { Setup, Stack } from '../support/stack.ts';
import { plural } from './figures.ts';
import type { Sizes } from './sizes.ts';

/** The file systems that keep files in memory, by Linux's numbers: tmpfs, ramfs. */
const IN_MEMORY = [0x01021994, 0x858458f6];

type Measured = {
  readonly stack: Pick<Stack, 'hasRedis' | 'versions'>;
  readonly setup: Setup;
  readonly sizes: Sizes;
};

/** What is measured where, for a reader who compares figures. */
export function conditionsOf({ stack, setup, sizes }: Measured): string[] {
  const processes = stack.hasRedis
    ? `${setup.apis === 1 ? 'one API process' : `${setup.apis} API processes`} and one worker`
    : 'one process for API and worker, as there is no redis-server on the PATH';
  const shared = `They share ${plural(availableParallelism(), 'core')} with Postgres, stand-ins and this load.`;
  const servers = Object.entries(stack.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${plural(sizes.drivers, 'driver')} and ${plural(sizes.stores, 'store')} in a world of towns, the same in each run.`,
    `Service: ${processes}, ${servers.join(', ')}. ${shared}`,
    'Every request has an idempotency key of its own, every reply is checked, and every order is looked up afterwards.',
    'Cards are charged and customers texted by the worker meanwhile, at stand-ins; replies do not wait for it.',
    whereCommitsGo(),
  ];
}

function whereCommitsGo(): string {
  const isMemory = IN_MEMORY.includes(statfsSync(tmpdir()).type >>> 0);
  return isMemory
    ? `Commits go to ${tmpdir()}, which is memory here: the rates are better than on a disk. TMPDIR takes another folder.`
    : `Every commit is on disk (fsync), in ${tmpdir()}.`;
}
