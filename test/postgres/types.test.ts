import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseArray, TYPES } from '../../src/postgres/types.ts';
import { useFreshDatabase } from '../harness/database.ts';

const { sql } = await useFreshDatabase({ migrated: false });

/** Any text but U+0000 and lone surrogates, which validation refuses. */
const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((value) => !value.includes('\0'));
const special = fc.constantFrom(
  '',
  '"',
  '\\',
  '\\"',
  '{',
  '}',
  '{}',
  ',',
  'NULL',
  'null',
  ' a ',
  '\n\t',
  "'",
  '😀é',
  '\\N',
);

describe('arrays', () => {
  it('keeps texts with quotes, backslashes, braces, commas, NULL and any Unicode', async () => {
    const property = fc.asyncProperty(fc.array(fc.oneof(text, special, fc.constant(null))), async (values) => {
      const [row] = await sql`
        select ${values}::text[] as back, array_length(${values}::text[], 1) as length,
          (select array_agg(t order by n) from unnest(${values}::text[]) with ordinality as u(t, n)) as unnested`;
      expect(row?.back).toEqual(values);
      expect(row?.length).toBe(values.length || null);
      expect(row?.unnested ?? []).toEqual(values);
    });
    await fc.assert(property, { numRuns: 200 });
  });

  it('keeps numbers exactly, infinite ones and NULL included', async () => {
    const floats = [0, -0.1, 1e-300, Number.MAX_VALUE, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, null, 40.7];
    const [row] = await sql`
      select ${floats}::float8[] as f, ${[1, -2147483648, null]}::int4[] as i, ${[2 ** 53 - 1, null]}::int8[] as l,
        ${[2n ** 62n, -1n].map(String)}::int8[] as big, ${[Number.NaN]}::float8[] as nan`;
    expect(row?.f).toEqual(floats);
    expect(row?.i).toEqual([1, -2147483648, null]);
    expect(row?.l).toEqual([2 ** 53 - 1, null]);
    expect(row?.big).toEqual([2n ** 62n, -1]);
    expect(row?.nan).toEqual([Number.NaN]);
  });

  it('keeps uuids', async () => {
    const ids = ['0190b5a0-0000-7000-8000-000000000001', null];
    const [row] = await sql`select ${ids}::uuid[] as back`;
    expect(row?.back).toEqual(ids);
  });

  it('keeps booleans and times if they are marked', async () => {
    const flags = [true, false, null];
    const times = [new Date('2026-02-28T23:59:59.123Z'), null, new Date('1970-01-01T00:00:00Z')];
    const [row] = await sql`
      select ${sql.array(flags, TYPES.bool.array)}::bool[] as flags,
        ${sql.array(times, TYPES.timestamptz.array)}::timestamptz[] as times,
        ${sql.array(['a', 'b,"'])}::text[] as texts`;
    expect(row?.flags).toEqual(flags);
    expect(row?.times).toEqual(times);
    expect(row?.texts).toEqual(['a', 'b,"']);
  });

  it('keeps JSON values, strings not encoded twice', async () => {
    const values = [{ a: '"\\{},' }, 'text', 7, [1, [2]], true, null];
    const [row] = await sql`
      select ${sql.array(values as never[], TYPES.jsonb.array)}::jsonb[] as back,
        (${sql.array(values as never[], TYPES.jsonb.array)}::jsonb[])[2] #>> '{}' as second`;
    expect(row?.back).toEqual(values);
    expect(row?.second).toBe('text');
  });

  it('reads arrays of several dimensions and of other lower bounds', () => {
    expect(parseArray('{{1,2},{3,NULL}}', Number)).toEqual([
      [1, 2],
      [3, null],
    ]);
    expect(parseArray('[0:1]={"a\\"b",c}', String)).toEqual(['a"b', 'c']);
    expect(parseArray('{}', String)).toEqual([]);
  });

  it('keeps empty arrays', async () => {
    const [row] = await sql`select ${[]}::text[] as t, ${[]}::int8[] as l`;
    expect(row).toEqual({ t: [], l: [] });
  });
});

describe('single values', () => {
  it('reads int8 as a number where that is exact, else as a bigint', async () => {
    const [row] = await sql`select 9007199254740991::int8 as safe, 9007199254740993::int8 as large`;
    expect(row).toEqual({ safe: 9007199254740991, large: 9007199254740993n });
  });

  it('reads timestamptz as a Date and writes a Date as one', async () => {
    const at = new Date('2026-03-08T07:30:00.250Z');
    const [row] = await sql`select ${at}::timestamptz as back`;
    expect(row?.back).toEqual(at);
  });

  it('has a value that cannot be serialized refused as data, and does not fail other statements', async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const results = await Promise.allSettled([
      sql`select 1 as one, pg_sleep(0.05)`,
      sql`select ${new Date(Number.NaN)}::timestamptz`,
      sql`select ${sql.json(circular as never)}::jsonb`,
      sql`select 2 as two`,
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    const codes = results.map((result) => (result.status === 'rejected' ? result.reason.code.slice(0, 2) : ''));
    expect(codes).toEqual(['', '22', '22', '']);
  });
});
