import type { Fragment, Sql } from 'postgres';
import type { OrderStatus } from '../domain/order.ts';

/** What a change of an order left behind. */
export type ChangedOrder = {
  readonly id: string;
  readonly sequence: number;
  readonly status: OrderStatus;
  readonly driverId: string | null;
};

export type OrderEvent = { readonly type: string; readonly data?: Record<string, string | number | boolean | null> };

/**
 * Changes one order, writes the event and sends the notice: one statement.
 *
 * @param update an `update orders set … where …` without `returning`; it must add 1 to `sequence`
 * @param before CTEs that go first, `name as (…), …`; the update may read them
 * @returns null when the condition of the update did not hold, and then nothing was written
 */
export async function changeOrder(
  sql: Sql,
  update: Fragment,
  event: OrderEvent,
  origin: string,
  before?: Fragment,
): Promise<ChangedOrder | null> {
  const [row] = await sql`
    with ${before ? sql`${before}, ` : sql``}changed as (
      ${update} returning id, sequence, status, driver_id
    ), event as (
      insert into order_events (order_id, sequence, type, data)
      select id, sequence, ${event.type}, ${event.data ? sql.json(event.data) : null}::jsonb from changed
    ), notice as (
      select pg_notify('sameday', ${origin} || ':order:' || id) from changed
    )
    select changed.* from changed, notice`;
  return row ? { id: row.id, sequence: row.sequence, status: row.status, driverId: row.driver_id } : null;
}
