import { expect, test } from 'vitest';
import { ACTIVE_STATUSES } from '../../src/domain/order.ts';
import { active, rowsOf } from '../../src/store/fragments.ts';
import { useFreshDatabase } from '../harness/database.ts';

const { sql } = await useFreshDatabase();

test('the active statuses are the same in the code, in SQL and in the unique index over drivers', async () => {
  const statuses = await sql`
    select s from unnest(${[...ACTIVE_STATUSES, 'pending_dispatch', 'delivered', 'returned']}::text[]) s
    where s in ${active(sql)}`;
  expect(statuses.map(({ s }) => s).sort()).toEqual([...ACTIVE_STATUSES].sort());
  const [index] = await sql`
    select pg_get_expr(i.indpred, i.indrelid) as predicate
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = 'orders'::regclass and i.indisunique and a.attname = 'driver_id'`;
  const named = [...String(index?.predicate).matchAll(/'(\w+)'::text/g)].map(([, status]) => status);
  expect(named.sort()).toEqual([...ACTIVE_STATUSES].sort());
});

test('rows arrive as they were sent, in their order, whatever their first value is', async () => {
  type Row = { readonly name: string | null; readonly isOn: boolean; readonly at: Date; readonly meters: number };
  const query = rowsOf<Row>([
    ['name', 'text', ({ name }) => name],
    ['is_on', 'bool', ({ isOn }) => isOn],
    ['at', 'timestamptz', ({ at }) => at],
    ['meters', 'float8', ({ meters }) => meters],
  ]);
  const at = new Date(1_700_000_000_000);
  const rows: Row[] = [
    { name: 'a "quoted", {bracketed} \\ name', isOn: false, at, meters: 0.5 },
    { name: null, isOn: true, at, meters: -1 },
  ];
  const sent = await sql`select * from (${query(sql, rows)}) t`;
  expect(sent.map(({ name, is_on, at, meters }) => ({ name, isOn: is_on, at, meters }))).toEqual(rows);
  expect(await sql`select * from (${query(sql, [])}) t`).toHaveLength(0);
});
