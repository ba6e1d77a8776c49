import type { Fragment, Sql } from 'postgres';
import { firstLease } from '../fragments.ts';
import { isParkedFor, parkedUntil } from './parked-parts.ts';
import { eventMembers } from './webhook-events.ts';
import { queueOf } from './webhook-parts.ts';

/**
 * The CTEs that make the webhook deliveries of the events in `numbered`, one for each enabled webhook of the
 * store, and of its organization where the store is active, whose filter has the type: `owed`, the deliveries
 * with the `outbox_id` of their jobs; `jobs`, the rows of the outbox that are due; and `deliveries`. What comes
 * for a receiver that is left alone, or behind which others wait, is parked at once.
 *
 * An event of the sandbox's own tidying is told to nobody.
 */
export const fanOut = (sql: Sql): Fragment => sql`
  owed as materialized (
    select nextval('outbox_id_seq') as outbox_id, w.id as webhook_id, e.*,
      coalesce(w.retry_at > now(), false) or ${isParkedFor(sql, sql`w.id`)} as waits
    from numbered e cross join lateral (
      select id, event_types, retry_at from webhooks where retailer_id = e.retailer_id and disabled_at is null
      union all
      select o.id, o.event_types, o.retry_at from retailers r join webhooks o on o.organization_id = r.organization_id
      where r.id = e.retailer_id and r.status = 'active' and o.disabled_at is null
    ) w
    where (w.event_types is null or e.type = any(w.event_types)) and coalesce(e.details ->> 'by', '') <> 'sandbox'
    order by e.number
  ), written as (
    insert into outbox (id, queue, order_id, retailer_id, run_at, lease_until, parked_for, parked_at)
      overriding system value
    select outbox_id, ${queueOf(sql)}, order_id, retailer_id, case when waits then ${parkedUntil(sql)} else now() end,
      case when waits then ${parkedUntil(sql)} else now() + ${firstLease(sql)} end,
      case when waits then webhook_id end, case when waits then now() end
    from owed d
    returning id, queue, order_id, retailer_id, run_at, relays, parked_for
  ), jobs as (
    select * from written where parked_for is null
  ), deliveries as (
    insert into webhook_deliveries (outbox_id, webhook_id, retailer_id, order_id, type, sequence, payload, created_at)
    select e.outbox_id, e.webhook_id, e.retailer_id, e.order_id, e.type, e.sequence,
      json_build_object(${eventMembers(sql, sql`e`)}), clock_timestamp()
    from owed e
  )`;
