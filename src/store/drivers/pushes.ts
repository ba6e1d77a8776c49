import type { PushKeys, PushSubscription } from '../../domain/push.ts';
import type { Db } from '../db.ts';
import { isDriver } from '../fragments.ts';

/** Most phones and browsers that ring for one driver; the newest stay. */
export const MAX_PUSH_SUBSCRIPTIONS = 3;

/** The service's keys; `made` become them where there are none yet. Processes that start at once get the same. */
export async function keepPushKeys({ sql }: Db, made: PushKeys): Promise<PushKeys> {
  await sql`
    insert into push_keys (public_key, private_key) values (${made.publicKey}, ${made.privateKey})
    on conflict do nothing`;
  const [row] = await sql`select public_key, private_key from push_keys`;
  return row ? { publicKey: row.public_key, privateKey: row.private_key } : made;
}

/**
 * Has a driver rung on a phone. A phone that another driver used rings for this one alone; of more than
 * MAX_PUSH_SUBSCRIPTIONS the newest stay.
 */
export async function addPushSubscription({ sql }: Db, driverId: string, phone: PushSubscription): Promise<void> {
  await sql`
    select add_push_subscription(${phone.endpoint}, ${driverId}, ${phone.p256dh}, ${phone.auth},
      ${MAX_PUSH_SUBSCRIPTIONS}::int)`;
}

/** Rings a driver no more on this phone; on none where `endpoint` is null. */
export async function removePushSubscriptions({ sql }: Db, driverId: string, endpoint: string | null): Promise<void> {
  await sql`
    delete from push_subscriptions where driver_id = ${driverId} and endpoint = coalesce(${endpoint}, endpoint)`;
}

/** Forgets an address that its vendor does not know any more. */
export async function forgetPushEndpoint({ sql }: Db, endpoint: string): Promise<void> {
  await sql`delete from push_subscriptions where endpoint = ${endpoint}`;
}

/** Where these drivers are rung, by their ids; one who is no driver any more, or has no phone, is missing. */
export async function findPushSubscriptions(
  { sql }: Db,
  driverIds: readonly string[],
): Promise<Map<string, PushSubscription[]>> {
  const rows = await sql`
    select p.driver_id, p.endpoint, p.p256dh, p.auth from push_subscriptions p join drivers d on d.id = p.driver_id
    where p.driver_id = any(${[...driverIds]}::uuid[]) and ${isDriver(sql, sql`d`)}`;
  const byDriver = new Map<string, PushSubscription[]>();
  for (const { driver_id, endpoint, p256dh, auth } of rows) {
    byDriver.set(driver_id, [...(byDriver.get(driver_id) ?? []), { endpoint, p256dh, auth }]);
  }
  return byDriver;
}
