import type { Fragment, Sql } from 'postgres';
import { UNCOUNTED_DECLINES } from '../../domain/stripe-declines.ts';
import { below } from '../../limits.ts';

/**
 * Declines of one card in CARD_WINDOW_SECONDS after which no charge is tried again on it. Networks fine tries
 * beyond 10; two are left for orders that are new, or tried by two workers in the same moment.
 */
export const MAX_CARD_DECLINES = 8;
/** Time for which the networks count the declines of a card. */
export const CARD_WINDOW_SECONDS = 24 * 3_600;
/** Shortest time for which a retry waits whose card has no room for another decline. */
export const CARD_WAIT_SECONDS = 15 * 60;
/** Declines of a card in a day beyond which its network fines each try. */
const NETWORK_DECLINES = 10;

below({ MAX_CARD_DECLINES }, { NETWORK_DECLINES });

/** The card of the order `o` of the store `r`. A charge that is tried again by hand goes to the store's card. */
export const cardOf = (sql: Sql): Fragment => sql`
  case when o.scenario ? 'payment_method' and not exists (
      select from order_events e
      where e.order_id = o.id and e.type = 'payment_retried' and e.data ->> 'by' is distinct from 'service')
    then o.scenario->>'payment_method' else r.stripe_payment_method_id end`;

/**
 * The CTE `cards`: the retries that must wait, as the network of their card counts too many declines, or will if what
 * is being tried on it is declined; `id` of the order and `wait_seconds`. Those of one statement count one after the
 * other.
 *
 * @param retries `select id, stripe_payment_method_id from …`
 */
export const waitsOfCards = (sql: Sql, retries: Fragment): Fragment => sql`
  cards as materialized (
    select id, case when declined >= ${MAX_CARD_DECLINES}
      then greatest(${CARD_WAIT_SECONDS}, ${CARD_WINDOW_SECONDS} - extract(epoch from now() - oldest))
      else ${CARD_WAIT_SECONDS} end::float8 as wait_seconds
    from (
      select id, declined, under_way, oldest,
        row_number() over (partition by stripe_payment_method_id order by id) as turn
      from (${retries}) retries cross join lateral (
        select count(*) filter (where p.status = 'declined') as declined,
          count(*) filter (where p.status = 'sending') as under_way,
          min(p.first_sent_at) filter (where p.status = 'declined') as oldest
        from payments p
        where p.stripe_payment_method_id = retries.stripe_payment_method_id
          and p.first_sent_at > now() - make_interval(secs => ${CARD_WINDOW_SECONDS})
          and (p.attempt > 1 or p.failure_code is not null)
          and (p.failure_code is null or p.failure_code <> all(${[...UNCOUNTED_DECLINES]}::text[]))
      ) tries
      where stripe_payment_method_id is not null
    ) counted
    where declined + under_way + turn > ${MAX_CARD_DECLINES}
  )`;
