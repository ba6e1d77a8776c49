import type { Fragment } from 'postgres';
import type { Receipt } from '../../domain/payout.ts';
import type { Db } from '../db.ts';
import { insertPayout, receiptData } from '../payments/payout-rows.ts';
import { insertText, type TextOwed, textJob } from '../texts/text-rows.ts';
import { type ChangedOrder, type ChangeParts, changeOrder, type OrderEvent } from './changes.ts';

/** What a driver's phone says of an action: its id for it, and the time of it by the phone's clock. */
export type ActionStamp = { readonly actionId: string | null; readonly capturedAt: Date | null };

/** Parts of a driver's action. */
type ActParts = Pick<ChangeParts, 'before' | 'jobs' | 'after'> & {
  readonly receipt?: Receipt | null;
  readonly text?: TextOwed;
  readonly endsWithPayout?: true;
};

/**
 * Changes an order for the driver who carries it, and records the action under its id, in one statement. A
 * release is recorded without an id too, since releases are counted.
 *
 * @throws for a release under an id that the driver used before, which the primary key `driver_actions_pkey` refuses
 */
export function act(
  db: Db,
  driverId: string,
  update: Fragment,
  event: OrderEvent,
  stamp: ActionStamp,
  { receipt, text, endsWithPayout, ...parts }: ActParts = {},
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const jobs = text ? { jobs: textJob(sql, text) } : {};
  const after = sql`${parts.after ?? sql``}, action as (
    insert into driver_actions (driver_id, action_id, order_id, type, status, sequence, captured_at)
    select ${driverId}::uuid, coalesce(${stamp.actionId}::text, gen_random_uuid()::text), id, ${event.type}, status,
      sequence, ${stamp.capturedAt}::timestamptz
    from changed where ${stamp.actionId}::text is not null or ${event.type}::text = 'released'
    ${event.type === 'released' ? sql`` : sql`on conflict do nothing`}
  )${endsWithPayout ? insertPayout(sql, receipt?.doubts ?? []) : sql``}${text ? insertText(sql, text) : sql``}`;
  const captured = stamp.capturedAt ? { captured_at: stamp.capturedAt.toISOString() } : {};
  const data = { ...event.data, ...captured };
  const stamped = {
    type: event.type,
    ...(Object.keys(data).length > 0 ? { data } : {}),
    ...(receipt ? { receipt: receiptData(receipt) } : {}),
  };
  return changeOrder(db, update, stamped, { ...parts, ...jobs, after });
}
