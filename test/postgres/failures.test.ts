import { describe, expect, it } from 'vitest';
import { connect } from '../../src/postgres/connect.ts';
import { classifyFailure, type Failure } from '../../src/postgres/failures.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { withDatabase } from '../harness/database-url.ts';
import { untilAt } from './statements.ts';

const database = await useFreshDatabase({ migrated: false });
await database.sql`create table things (id int primary key, name text check (length(name) < 5))`;

async function failureOf(statement: Promise<unknown>): Promise<Failure> {
  const error: unknown = await statement.then(
    () => expect.fail('the statement succeeded'),
    (reason: unknown) => reason,
  );
  return classifyFailure(error);
}

describe('classifyFailure', () => {
  it('calls a value that its table or type does not accept a refused row', async () => {
    const { sql } = database;
    await sql`insert into things values (1, 'one') on conflict do nothing`;
    expect(await failureOf(sql`insert into things values (1, 'two')`)).toBe('refused_row');
    expect(await failureOf(sql`insert into things values (2, 'too long')`)).toBe('refused_row');
    expect(await failureOf(sql`insert into things values (3, ${'a\0b'})`)).toBe('refused_row');
    expect(await failureOf(sql`select ${'x'}::int`)).toBe('refused_row');
  });

  it('calls a wrong statement a bug', async () => {
    const { sql } = database;
    expect(await failureOf(sql`select * from nowhere`)).toBe('bug');
    expect(await failureOf(sql`selec 1`)).toBe('bug');
    expect(await failureOf(sql`select ${undefined as never}`)).toBe('bug');
    expect(await failureOf(sql`do $$ begin raise exception 'no'; end $$`)).toBe('bug');
    expect(classifyFailure(new TypeError('x is not a function'))).toBe('bug');
    expect(classifyFailure('text')).toBe('bug');
  });

  it('calls a deadlock a failure to retry', async () => {
    const { sql } = database;
    await sql`insert into things values (10, 'a'), (11, 'b') on conflict do nothing`;
    // Each goes on when the other one has its first row, which an advisory lock tells.
    const swap = (first: number, second: number): Promise<unknown> =>
      sql
        .unsafe(
          `set local deadlock_timeout = '50ms'; update things set name = 'x' where id = ${first};
           select pg_advisory_xact_lock(${first});
           do $$ begin
             while not exists (
               select from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
               where l.locktype = 'advisory' and l.objid = ${second}
             ) loop perform pg_sleep(0.01); end loop;
           end $$;
           update things set name = 'x' where id = ${second}`,
        )
        .execute();
    const results = await Promise.allSettled([swap(10, 11), swap(11, 10)]);
    const failed = results.flatMap((result) => (result.status === 'rejected' ? [classifyFailure(result.reason)] : []));
    expect(failed).toEqual(['retry']);
  });

  it('calls a session ended from outside unknown', async () => {
    const sql = connect({ url: database.url, max: 1, applicationName: 'victim' });
    const waiting = failureOf(sql`select pg_sleep(10)`);
    await database.sql`select pg_terminate_backend(${await untilAt(database, 'select pg_sleep(10)')})`;
    expect(await waiting).toBe('unknown');
    await sql.end({ timeout: 1 });
  });

  it('calls a database that is missing or refuses the login unavailable', async () => {
    const wrongPassword = new URL(database.url);
    wrongPassword.password = 'wrong';
    for (const url of [withDatabase(database.url, 'missing'), wrongPassword.href, 'postgres://u:p@127.0.0.1:1/x']) {
      const sql = connect({ url, max: 1, applicationName: 'test' });
      expect(await failureOf(sql`select 1`)).toBe('unavailable');
      await sql.end({ timeout: 1 });
    }
  });

  it('calls a closed pool unavailable', async () => {
    const sql = connect({ url: database.url, max: 1, applicationName: 'test' });
    await sql.end();
    expect(await failureOf(sql`select 1`)).toBe('unavailable');
  });

  it('tells a failure before the send from one after it by the system call', () => {
    const error = (syscall: string): Error => Object.assign(new Error('x'), { code: 'ETIMEDOUT', syscall });
    expect(classifyFailure(error('connect'))).toBe('unavailable');
    expect(classifyFailure(error('read'))).toBe('unknown');
    const both = [error('connect'), error('connect')];
    expect(classifyFailure(Object.assign(new AggregateError(both), { code: 'ETIMEDOUT' }))).toBe('unavailable');
  });
});
