import type { Db } from '../db.ts';
import { isDriver } from '../fragments.ts';

/**
 * Sets the tracker of a driver's phone, in place of the one before; null takes it away. False for an unknown
 * driver, or one who is no longer active.
 */
export async function setDriverTracker({ sql }: Db, driverId: string, trackerHash: string | null): Promise<boolean> {
  const rows = await sql`
    update drivers set tracker_hash = ${trackerHash} where id = ${driverId} and active returning id`;
  return rows.length === 1;
}

/** Whether a driver has a tracker; null for an unknown driver, or one who is no longer active. */
export async function driverHasTracker({ sql }: Db, driverId: string): Promise<boolean | null> {
  const [row] = await sql`select tracker_hash is not null as has from drivers where id = ${driverId} and active`;
  return row?.has ?? null;
}

/** The driver whose tracker has this hash; one who was deactivated only until the order in their hands ends. */
export async function findDriverByTracker({ sql }: Db, trackerHash: string): Promise<{ driverId: string } | null> {
  const [row] = await sql`select id from drivers d where tracker_hash = ${trackerHash} and ${isDriver(sql, sql`d`)}`;
  return row ? { driverId: row.id } : null;
}

/**
 * Keeps the code of a driver's sign-in link, in place of the one before; null for an unknown driver, or one who
 * is no longer active.
 *
 * @param seconds how long it holds, by the database's clock
 */
export async function keepSignInCode(
  { sql }: Db,
  driverId: string,
  codeHash: string,
  seconds: number,
): Promise<{ readonly expiresAt: Date } | null> {
  const [row] = await sql`
    insert into driver_sign_ins as s (driver_id, code_hash, expires_at)
    select id, ${codeHash}, now() + make_interval(secs => ${seconds}) from drivers where id = ${driverId} and active
    on conflict (driver_id) do update
    set code_hash = excluded.code_hash, expires_at = excluded.expires_at, token_hash = null
    returning s.expires_at`;
  return row ? { expiresAt: row.expires_at } : null;
}

/**
 * Exchanges the code of a link for a token, once: the driver's token before is dead from then on, and where
 * their phone was rung is forgotten. The same token again changes nothing, as its reply may have been lost.
 *
 * @returns the driver; null where the code is unknown, was exchanged for another token, or is over its time
 */
export async function exchangeSignInCode(
  { sql, processId }: Db,
  codeHash: string,
  tokenHash: string,
): Promise<{ readonly driverId: string } | null> {
  const [row] = await sql`
    with exchanged as (
      update driver_sign_ins s set token_hash = ${tokenHash} from drivers d
      where s.code_hash = ${codeHash} and s.expires_at > now() and coalesce(s.token_hash, ${tokenHash}) = ${tokenHash}
        and d.id = s.driver_id and d.active
      returning s.driver_id
    ), changed as (
      update drivers d set token_hash = ${tokenHash} from exchanged e
      where d.id = e.driver_id and d.token_hash <> ${tokenHash} returning d.id
    ), silenced as (
      delete from push_subscriptions p using changed c where p.driver_id = c.id
    ), notice as (
      select pg_notify('sameday', ${processId} || ':driver:' || id) from changed
    )
    select driver_id, (select count(*) from notice) as notices from exchanged`;
  return row ? { driverId: row.driver_id } : null;
}
