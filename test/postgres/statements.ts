import { expect } from 'vitest';
import { classifyFailure } from '../../src/postgres/failures.ts';
import type { TestDatabase } from '../harness/database.ts';

/** What became of a statement: `done`, or what its failure means. */
export const fate = (query: Promise<unknown>): Promise<string> =>
  query.then(
    () => 'done',
    (error) => classifyFailure(error),
  );

/** Waits until a session of this database is at a statement that begins so; resolves with its pid. */
export async function untilAt({ sql }: TestDatabase, statement: string): Promise<number> {
  const look = () => sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where starts_with(query, ${statement}) and state = 'active' and datname = current_database()`;
  await expect.poll(look).toHaveLength(1);
  return (await look())[0]?.pid as number;
}
