import { expect, test } from 'vitest';
import { connect } from '../../src/postgres/connect.ts';
import { classifyFailure } from '../../src/postgres/failures.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { CUTS, openProxy } from './proxy.ts';

const database = await useFreshDatabase({ migrated: false });
const { sql } = database;
await sql`create table marks (n int)`;

test.each(CUTS.map((cut, n) => ({ cut, n })))(
  'a statement whose connection is cut ($cut) is done all the same',
  async ({ cut, n }) => {
    const proxy = await openProxy(database.url, 'marked');
    const marked = connect({ url: proxy.url, applicationName: 'marked', max: 1 });
    const other = connect({ url: proxy.url, applicationName: 'other', max: 1 });
    await Promise.all([marked`select ${1}::int`, other`select ${1}::int`]);
    const isCut = proxy.cutNext(cut, 100);
    await other`select ${2}::int`;
    const outcome = marked`insert into marks values (${n})`.then(() => 'done', classifyFailure);
    await isCut;
    expect(await outcome).toBe('unknown');
    await expect.poll(() => sql`select from marks where n = ${n}`).toHaveLength(1);
    await Promise.all([marked.end({ timeout: 1 }), other.end({ timeout: 1 })]);
    proxy.close();
  },
);
