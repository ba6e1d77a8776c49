import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { startsServers } from './starts-servers.ts';

/** Folders whose files start most: benchmarks and services, clusters and browsers. */
const LONG = /\/test\/(bench|docker|faults|sandbox|scripts|service|web)\//;

/** Begins with the files that take longest, the same way on each machine, so that none is left alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const weights = new Map(files.map(({ moduleId }) => [moduleId, weightOf(moduleId)]));
    const weight = ({ moduleId }: TestSpecification): number => weights.get(moduleId) ?? 0;
    return files.toSorted((a, b) => weight(b) - weight(a));
  }
}

function weightOf(path: string): number {
  if (!startsServers(path)) return statSync(path).size / 1e9;
  return statSync(path).size * (LONG.test(path) ? 1e3 : 1);
}
