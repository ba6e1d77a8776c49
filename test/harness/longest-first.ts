import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { PROJECTS, type Project } from './projects.ts';

/** From what takes longest: browsers and stacks under load, then services, clusters and processes. */
const LONG = [/\/test\/(bench|docker|faults|web)\//, /\/test\/(model|sandbox|scripts|service)\//];

/**
 * Begins with the files that take longest, on each machine in the same order, so that none is left to the end. Those
 * of a project come one after the other, as a process is shared by files that follow each other.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranked = files.map((file) => ({ file, rank: rankOf(file), bytes: statSync(file.moduleId).size }));
    return ranked.sort((a, b) => a.rank - b.rank || b.bytes - a.bytes).map(({ file }) => file);
  }
}

function rankOf({ moduleId, project }: TestSpecification): number {
  const rank = LONG.findIndex((folders) => folders.test(moduleId));
  const place = PROJECTS.indexOf(project.name as Project);
  return place * (LONG.length + 1) + (rank === -1 ? LONG.length : rank);
}
