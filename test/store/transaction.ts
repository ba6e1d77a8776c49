import { expect, onTestFinished } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import type { Store } from '../../src/store/store.ts';
import type { TestDatabase } from '../harness/database.ts';
import { storeOf } from '../harness/store.ts';

/** A connection with an open transaction, in the place of another process that has not committed yet. */
export async function openTransaction(database: TestDatabase): Promise<{
  readonly sql: Sql;
  commit(): Promise<unknown>;
  rollback(): Promise<unknown>;
}> {
  const sql = connect({ url: database.url, applicationName: 'other', max: 1, statementTimeoutMs: 0, deadlineMs: 0 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  await sql.unsafe('begin').simple();
  return {
    sql,
    commit: () => sql.unsafe('commit').simple(),
    rollback: () => sql.unsafe('rollback').simple(),
  };
}

/**
 * What statements give, the rows that they read of these tables, and how often they read the whole of one. What they
 * write is rolled back.
 */
export async function reading<Result>(
  database: TestDatabase,
  tables: readonly string[],
  work: (store: Store) => Promise<Result>,
): Promise<{ readonly result: Result; readonly rows: number; readonly wholeReads: number }> {
  const { sql, rollback } = await openTransaction(database);
  const result = await work(storeOf(sql));
  const [read] = await sql`
    select sum(seq_scan)::int as "wholeReads", sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows
    from pg_stat_xact_user_tables where relname = any(${[...tables]}::text[])`;
  await rollback();
  return { result, rows: read?.rows, wholeReads: read?.wholeReads };
}

/** Resolves once a statement of this database waits for a lock of another session. */
export async function untilBlocked({ sql }: TestDatabase): Promise<void> {
  const blocked = () => sql`
    select pid from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`;
  await expect.poll(async () => (await blocked()).length, { interval: 10 }).toBeGreaterThan(0);
}

/** The notices that were sent while `work` ran, in the order of their commits. */
export async function noticesDuring(database: TestDatabase, work: () => Promise<unknown>): Promise<string[]> {
  const sql = connect({ url: database.url, applicationName: 'listener', max: 1 });
  const notices: string[] = [];
  try {
    await sql.listen('sameday', (payload) => notices.push(payload));
    await work();
    // Notices arrive in the order of commits, so those of `work` are here when this one is.
    await database.sql`select pg_notify('sameday', 'end')`;
    await expect.poll(() => notices.at(-1), { interval: 10 }).toBe('end');
    return notices.slice(0, -1);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
