import { FIRST_ID } from '../../domain/ids.ts';
import type { Sql } from '../../postgres/connect.ts';
import { active } from '../fragments.ts';

/** Most ids that are named of what breaks one rule: enough to look at. */
const NAMED_IDS = 5;

type Broken = { readonly rule: string; readonly count: number; readonly ids: readonly string[] };
export type Recovery = { readonly orders: number; readonly newestOrderAt: Date | null; readonly now: Date };
export type KeptSecrets = {
  readonly pushKeys: { readonly publicKey: string; readonly privateKey: string } | null;
  readonly webhookSecrets: readonly string[];
};

/** What holds in every database of this schema, by what it says of those that break it; each finds ids. */
const rules = (sql: Sql) => ({
  'indexes are not whole: build them again': sql`
    select indexrelid::regclass::text as id from pg_index where not indisvalid`,
  'active orders share a slot of their driver with another': sql`
    select o.id from orders o where o.status in ${active(sql)} and exists (
      select from orders p where p.driver_id = o.driver_id and p.driver_slot = o.driver_slot
        and p.status in ${active(sql)} and p.id <> o.id)`,
  'orders with a driver have another one in their last assignment, or none': sql`
    select o.id from orders o where o.driver_id is not null and o.driver_id::text is distinct from (
      select e.data ->> 'driver_id' from order_events e
      where e.order_id = o.id and e.type = 'driver_assigned' order by e.sequence desc limit 1)`,
  'orders have a driver who is not there': sql`
    select o.id from orders o where o.driver_id is not null and not exists (
      select from drivers d where d.id = o.driver_id)`,
  'orders lack events': sql`
    select o.id from orders o where o.status <> 'void' and o.sequence <> (
      select count(*) from order_events e where e.order_id = o.id)`,
  'assigned orders were never charged': sql`
    select id from orders where driver_id is not null and payment_status = 'not_charged' and status in ${active(sql)}`,
  'charges are owed, and no job makes them': sql`
    select o.id from orders o where o.payment_status = 'processing' and not exists (
      select from outbox b where b.order_id = o.id and b.queue in ('charge', 'refund')
        and (b.done_at is null or b.failure_code is not null))`,
  'orders are paid without a charge on record': sql`
    select o.id from orders o where o.payment_status = 'paid' and not exists (
      select from payments p where p.order_id = o.id and p.status = 'paid')`,
  'delivered orders have no payout': sql`
    select o.id from orders o where o.status = 'delivered' and not exists (
      select from payouts p where p.order_id = o.id)`,
  'orders are owed jobs and are not there': sql`
    select b.order_id as id from outbox b where b.done_at is null and not exists (
      select from orders o where o.id = b.order_id)`,
});

/** What breaks a rule in a database that no service runs on. */
export async function findBroken(sql: Sql): Promise<Broken[]> {
  const broken: Broken[] = [];
  for (const [rule, found] of Object.entries(rules(sql))) {
    const [row] = await sql`
      with found as materialized (select distinct id::text as id from (${found}) f)
      select count(*)::int4 as count, (select array_agg(id) from (select id from found limit ${NAMED_IDS}) n) as ids
      from found`;
    if (row && row.count > 0) broken.push({ rule, count: row.count, ids: row.ids });
  }
  return broken;
}

/** How many rows are owed to each queue. */
export async function countOwed(sql: Sql): Promise<Readonly<Record<string, number>>> {
  const rows =
    await sql`select queue, count(*)::int4 as owed from outbox where done_at is null group by queue order by 1`;
  return Object.fromEntries(rows.map(({ queue, owed }) => [queue, owed]));
}

/** How far a database reaches. */
export async function readRecovery(sql: Sql): Promise<Recovery> {
  const [row] = await sql`
    select count(*)::int4 as orders, max(created_at) as newest, clock_timestamp() as now
    from orders where status <> 'void'`;
  return { orders: row?.orders ?? 0, newestOrderAt: row?.newest ?? null, now: row?.now };
}

/** The next photos that orders name, in the order of their ids. */
export async function listPhotos(
  sql: Sql,
  behind: string | null,
  most: number,
): Promise<{ readonly id: string; readonly photo_name: string }[]> {
  return await sql`
    select id, photo_name from orders where photo_name is not null and id > ${behind ?? FIRST_ID}
    order by id limit ${most}`;
}

/** The secrets that the tables keep in clear, because the service signs with them. */
export async function readSecrets(sql: Sql): Promise<KeptSecrets> {
  const [keys] = await sql`select public_key as "publicKey", private_key as "privateKey" from push_keys`;
  const webhooks = await sql`
    select secret from webhooks union select old_secret from webhooks where old_secret is not null`;
  return {
    pushKeys: (keys as KeptSecrets['pushKeys'] | undefined) ?? null,
    webhookSecrets: webhooks.map(({ secret }) => secret),
  };
}

/** What a cluster keeps of a role's password (SCRAM-SHA-256, RFC 5803), for a superuser; null for no such role. */
export async function readVerifier(sql: Sql, role: string): Promise<string | null> {
  const [row] = await sql`select rolpassword from pg_authid where rolname = ${role}`;
  return row?.rolpassword ?? null;
}
