import type { Sql } from '../../../src/postgres/connect.ts';
import type { Model } from './model.ts';
import type { ModelOrder } from './nouns.ts';

/** What jobs and the planner write, at any time. */
const OF_JOBS = /^(payment_|refund|not_charged|sms_|estimate_changed)/;

type Row = {
  readonly id: string;
  readonly status: string;
  readonly driverId: string | null;
  readonly payment: string;
  readonly sequence: number;
  readonly excluded: readonly string[];
  readonly events: readonly string[];
  readonly attempts: readonly string[];
  readonly charges: number;
  readonly refunds: number;
};

/**
 * Compares the tables with a model's orders; returns a sentence about the first difference.
 *
 * @param withJobs whether the model ran the jobs too; otherwise it knows only their final results
 */
export async function compareTables(sql: Sql, model: Model, withJobs: boolean): Promise<string | null> {
  const rows = (await sql`
    select o.id, o.status, o.driver_id as "driverId", o.payment_status as payment, o.sequence,
      o.excluded_driver_ids::text[] as excluded,
      array(select type from order_events e where e.order_id = o.id order by e.sequence) as events,
      array(select status from payments p where p.order_id = o.id order by attempt) as attempts,
      (select count(*)::int from outbox x where x.order_id = o.id and x.queue = 'charge') as charges,
      (select count(*)::int from outbox x where x.order_id = o.id and x.queue = 'refund') as refunds
    from orders o
    where o.retailer_id = any(${model.stores.map(({ id }) => id)}::uuid[]) and o.status <> 'void'`) as unknown as Row[];
  if (rows.length !== model.orders.size) return `there are ${rows.length} orders and not ${model.orders.size}`;
  for (const row of rows) {
    const order = model.orders.get(row.id);
    if (!order) return `order ${row.id} is nobody's`;
    const said = JSON.stringify(toldBy(row, withJobs));
    const wanted = JSON.stringify(toldByModel(order, withJobs));
    if (said !== wanted) return `order ${row.id} is ${said} and not ${wanted}`;
  }
  return compareActions(sql, model);
}

function toldBy({ status, driverId, excluded, charges, ...row }: Row, withJobs: boolean) {
  const life = { status, driverId, excluded, charges };
  const { events, sequence, payment, attempts, refunds } = row;
  if (withJobs) return { ...life, events, sequence, payment, attempts, refunds };
  const isWhole = sequence === events.length;
  return { ...life, events: events.filter((type) => !OF_JOBS.test(type)), isWhole, payment: endOf(payment) };
}

function toldByModel({ status, driverId, excluded, events, money }: ModelOrder, withJobs: boolean) {
  const life = { status, driverId, excluded, charges: Number(money.wasOwed), events };
  if (withJobs) {
    const { status: payment, attempts, refundOwed } = money;
    const states = attempts.map(({ state }) => state);
    return { ...life, sequence: events.length, payment, attempts: states, refunds: Number(refundOwed) };
  }
  const isOver = status === 'cancelled' || status === 'expired';
  return { ...life, isWhole: true, payment: !isOver && money.wasOwed ? 'paid' : 'nothing held' };
}

const endOf = (payment: string): string =>
  payment === 'refunded' || payment === 'not_charged' ? 'nothing held' : payment;

async function compareActions(sql: Sql, model: Model): Promise<string | null> {
  const ids = model.drivers.map(({ id }) => id);
  const rows =
    await sql`select driver_id, action_id, order_id, status from driver_actions where driver_id = any(${ids}::uuid[])
      -- A release without an id gets one.
      and action_id like 'action-%'`;
  const told = (driver: string, action: string, order: string, status: string) =>
    `${driver} ${action} ${order} ${status}`;
  const said = rows.map((row) => told(row.driver_id, row.action_id, row.order_id, row.status)).toSorted();
  const wanted = model.drivers
    .flatMap(({ id, actions }) =>
      [...actions].map(([action, { orderId, status }]) => told(id, action, orderId, status)),
    )
    .toSorted();
  return said.join() === wanted.join() ? null : `the actions on record are ${said} and not ${wanted}`;
}
