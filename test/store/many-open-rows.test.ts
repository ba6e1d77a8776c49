import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { connect } from '../../src/postgres/connect.ts';
import type { OwedDelivery } from '../../src/store/events/webhook-deliveries.ts';
import type { Store } from '../../src/store/store.ts';
import { freshDatabase, useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { reading } from './transaction.ts';

/*
 * Orders that wait while no driver is there, and jobs that are owed while a vendor is away. Rows that are read are
 * counted, so that a few thousand show a scan.
 */
const OPEN = 3_000;
/** Orders whose jobs one statement handles. */
const BATCH = 10;
/** Above what a statement reads of the rows that it names, by an index and once more to change them. */
const MOST_ROWS_READ = 8 * BATCH;
/** Executions after which a connection has chosen the plan that it keeps; Postgres looks at five. */
const PLANNED_BY_THEN = 8;
const SENDER = '+15550100000';

type Job = { readonly id: number; readonly orderId: string; readonly relays: number };

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);
for (const table of ['orders', 'outbox']) await sql`alter table ${sql(table)} set (autovacuum_enabled = off)`;
// What Postgres knows of the tables is from a quiet hour, in which every order had ended and every job was done.
await addRows('expired', new Date());
await sql`vacuum (analyze) orders, outbox`;
await addRows('pending_dispatch', null);
const drivers = await Promise.all(Array.from({ length: BATCH }, () => addDriverRow(sql)));
const added = await Promise.all(drivers.map((id) => addOrder(sql, store, { driverId: id })));
const ids = added.map(({ orderId }) => orderId);
const charges = await jobsOf(ids, 'charge');
const texts = await jobsOf(ids, 'sms');
const waitingId = (await addOrder(sql, store)).orderId;
const driverId = await addDriverRow(sql);

async function addRows(status: string, doneAt: Date | null): Promise<void> {
  await sql`
    with added as (
      insert into orders (id, retailer_id, customer_id, dropoff_address_id, status, delivery_tier, delivery_fee_cents,
        driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat, pickup_lng,
        pickup_point_source, created_at, expires_at)
      select gen_random_uuid(), ${store.retailerId}::uuid, gen_random_uuid(), gen_random_uuid(), ${status}, 'standard',
        799, 550, 'not_charged', 'none', gen_random_uuid()::text, 'One Test Square', 37.7, -122.4, 'registered', now(),
        now() + interval '1 hour'
      from generate_series(1, ${OPEN}::int)
      returning id, retailer_id
    )
    insert into outbox (queue, order_id, retailer_id, run_at, lease_until, done_at)
    select 'redispatch', id, retailer_id, now() + interval '1 hour', now() + interval '1 hour', ${doneAt}::timestamptz
    from added`;
}

async function jobsOf(orderIds: readonly string[], queue: string): Promise<Job[]> {
  const rows = await sql`
    select id, order_id, relays from outbox where order_id = any(${[...orderIds]}::uuid[]) and queue = ${queue}`;
  return rows.map((row) => ({ id: Number(row.id), orderId: row.order_id, relays: row.relays }));
}

const first = (jobs: readonly Job[]): Job => jobs[0] as Job;
const idsOf = (jobs: readonly Job[]): number[] => jobs.map(({ id }) => id);
const queued = ({ id, orderId }: Job) => ({ outboxId: id, orderId });
const delivery = (): OwedDelivery => ({
  id: newId(),
  outboxId: first(charges).id,
  payload: '{}',
  attempts: 0,
  relays: 0,
  dueInSeconds: 0,
  ageSeconds: 0,
  isLeftOver: false,
  endpoint: {
    id: newId(),
    ownerId: newId(),
    url: 'https://a.test',
    secret: 's',
    oldSecret: null,
    heldSeconds: 0,
    seesStore: true,
  },
});
const refused = { result: '500', retryInSeconds: 60, receiver: 'refuses' as const };
const sent = ({ id, orderId }: Job) => ({
  orderId,
  kind: 'on_the_way' as const,
  result: { status: 'sent' as const, sid: `SM${id}` },
  outboxId: id,
});

test.each<[what: string, work: (store: Store) => Promise<unknown>]>([
  ['hands jobs over', (s) => s.extendLease(charges)],
  ['puts jobs back', (s) => s.putBack(charges.map(queued), 'charge', 1_000)],
  ['leaves jobs to the sweepers', (s) => s.leaveToSweepers(idsOf(charges))],
  ['ends jobs', (s) => s.finishJobs(charges.map(queued), 'charge')],
  [
    'records charges',
    (s) =>
      s.recordPaid(
        charges.map(({ id, orderId }) => ({ orderId, attempt: 1, paymentIntentId: `pi_${id}`, outboxId: id })),
      ),
  ],
  [
    'records a decline',
    async (s) => {
      const { id, orderId } = first(charges);
      await s.openPaymentAttempts([orderId], 1);
      const declined = { failureCode: 'card_declined', final: true };
      expect(await s.recordDeclined({ orderId, attempt: 1 }, declined, id)).not.toBeNull();
    },
  ],
  ['asks for a charge again', (s) => s.askAgain(first(charges).orderId, 0)],
  ['records a refund', (s) => s.recordRefund(first(charges).orderId, 're_1', first(charges).id)],
  [
    'records a refused refund',
    (s) => s.recordRefundRefused(first(charges).orderId, { code: 'charge_disputed' }, first(charges).id),
  ],
  ['records that nothing was charged', (s) => s.recordUncharged(first(charges).orderId, first(charges).id)],
  ['records texts', (s) => s.recordTexts('sms', texts.map(sent), SENDER)],
  ['records optional texts', (s) => s.recordTexts('text', texts.map(sent), SENDER)],
  [
    'records dropoffs',
    (s) => s.recordDropoffs(texts.map(({ id, orderId }) => ({ orderId, dropoff: null, outboxId: id }))),
  ],
  ['records a delivery', (s) => s.recordDelivered(delivery(), '200')],
  ['records a failed delivery', (s) => s.recordFailedAttempt(delivery(), refused)],
  ['gives a delivery up', (s) => s.recordUndeliverable(delivery(), 'no_endpoint')],
  ['parks a delivery', (s) => s.parkDelivery(delivery())],
  ['gives an order to a driver', (s) => s.assignWaiting(waitingId, { driverId, shownMeters: 1, slot: 0 })],
  ['expires an order', (s) => s.expireOrder(waitingId)],
  ['has an order tried again', (s) => s.nudgeOrder(waitingId)],
])('a statement that %s reads no other open one', async (_what, work) => {
  expect((await reading(database, ['orders', 'outbox'], work)).rows).toBeLessThan(MOST_ROWS_READ);
});

test('a connection that knew the tables empty reads no other row when they are not', async () => {
  const fresh = await freshDatabase();
  onTestFinished(() => fresh.drop());
  const sql = connect({ url: fresh.url, applicationName: 'test', max: 1, byIndex: true });
  onTestFinished(() => sql.end({ timeout: 5 }));
  const s = storeOf(sql);
  const other = await addStoreRow(fresh.sql);
  const charge = async (): Promise<void> => {
    const { orderId } = await addOrder(fresh.sql, other, { driverId: await addDriverRow(fresh.sql) });
    const [job] = await fresh.sql`select id from outbox where order_id = ${orderId} and queue = 'charge'`;
    await s.openPaymentAttempts([orderId], 1);
    await s.recordPaid([{ orderId, attempt: 1, paymentIntentId: `pi_${job?.id}`, outboxId: Number(job?.id) }]);
  };
  for (let n = 0; n < PLANNED_BY_THEN; n++) await charge();
  await fresh.sql`
    insert into payments (order_id, attempt, amount_cents, status)
    select gen_random_uuid(), 1, 799, 'sending' from generate_series(1, ${OPEN}::int)`;
  await sql.unsafe('begin').simple();
  await charge();
  const [read] = await sql`
    select sum(seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'payments'`;
  await sql.unsafe('rollback').simple();
  expect(read?.rows).toBeLessThan(MOST_ROWS_READ);
});
