import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { startsServers } from './starts-servers.ts';

/** From what takes longest: stacks under load, then services, clusters and browsers. */
const LONG = [/\/test\/(bench|docker|faults)\//, /\/test\/(sandbox|scripts|service|web)\//];

/** Begins with the files that take longest, on each machine in the same order, so that none is left to the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranked = files.map((file) => ({ file, rank: rankOf(file.moduleId), bytes: statSync(file.moduleId).size }));
    return ranked.sort((a, b) => a.rank - b.rank || b.bytes - a.bytes).map(({ file }) => file);
  }
}

function rankOf(path: string): number {
  if (!startsServers(path)) return LONG.length + 1;
  const rank = LONG.findIndex((folders) => folders.test(path));
  return rank === -1 ? LONG.length : rank;
}
