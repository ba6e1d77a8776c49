import { DEFAULT_UNPAID_ORDERS_ALLOWED } from '../../limits.ts';
import type { Db } from '../db.ts';

/** What a store may know of itself. */
export type Account = {
  readonly name: string;
  readonly status: 'active' | 'suspended';
  /** `failing`: a charge on the card was refused since the last one that was paid. */
  readonly card: 'none' | 'set' | 'failing';
  /** Orders in a row whose charge was refused for good, and that it still owes. */
  readonly unpaidOrders: number;
  /** Whether further orders wait until one is paid. */
  readonly paymentRequired: boolean;
};

/** The account of a store; null for an unknown one. */
export async function findAccount(
  { sql }: Db,
  retailerId: string,
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
): Promise<Account | null> {
  const [account] = await sql<Account[]>`
    select name, status, unpaid_orders_of(id) as "unpaidOrders",
      case when stripe_customer_id is null or stripe_payment_method_id is null then 'none'
        when payment_failed_at is not null and unpaid_orders_of(id) > 0 then 'failing' else 'set' end as card,
      coalesce(unpaid_credit(id, ${unpaidAllowed}::int) <= 0, false) as "paymentRequired"
    from retailers where id = ${retailerId}`;
  return account ?? null;
}
