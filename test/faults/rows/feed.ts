import { newWebhookSecret } from '../../../src/events/webhook-signature.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { storeOf } from '../../harness/store.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../harness/webhooks.ts';
import { findMisread, type Seen, startReaders } from '../event-readers.ts';
import { any, underLoad } from '../row.ts';
import { lookUntil, type Process, type World } from '../world.ts';

const CATCH_UP_MS = 60_000;
const CAUGHT_MS = 3_000;
const POLL_MS = 200;

type Witness = { readonly readers: ReturnType<typeof startReaders>; readonly receiver: WebhookReceiver };
const witnesses = new WeakMap<World, Witness>();

/** Readers and a receiver of webhooks, from the first fault on. */
async function witness(world: World, random: () => number): Promise<Witness> {
  const receiver = await startWebhookReceiver(() => 204);
  // Orders still change after the last fault, and a webhook without a receiver would be tried for a day.
  world.atClose(() => receiver.close());
  for (const { id } of world.stores.slice(0, 5)) {
    await storeOf(world.sql).setWebhook(id, `${receiver.url}/hook`, newWebhookSecret());
  }
  return { readers: startReaders(world, random), receiver };
}

export const feedWriter = underLoad<Process | null>({
  name: 'feed-writer',
  what: 'kill -9 of a writer of events, or the end of its backend, between two statements and in one',
  count: 100,
  needs: ['redis'],
  sizes: { stores: 10, workers: 2 },
  perSecond: 50,
  pauseMs: 150,
  async inject(world, random) {
    if (!witnesses.has(world)) witnesses.set(world, await witness(world, random));
    const worker = any(world.workers, random);
    switch (any(['kill', 'kill at work', 'end', 'end at work'] as const, random)) {
      case 'kill':
        await worker.kill();
        return worker;
      case 'kill at work':
        await heldUp(world, () => worker.kill());
        return worker;
      case 'end':
        await endWriters(world);
        return null;
      case 'end at work':
        await heldUp(world, () => endWriters(world));
        return null;
    }
  },
  async recover(_world, killed) {
    await killed?.start();
  },
  async check(world) {
    const { readers, receiver } = witnesses.get(world) as Witness;
    const problems = await untilRead(world, readers.seen);
    await readers.stop();
    return [
      ...problems,
      ...(await findMisnumbered(world)),
      ...(await findUntold(world)),
      ...readers.seen.flatMap(findMisread),
      ...findDoubled(receiver),
    ];
  },
});

/** Works while the statement of a writer waits for the row of the last number. */
async function heldUp({ sql, postgres }: World, work: () => Promise<unknown>): Promise<void> {
  const holder = connect({
    url: postgres.url,
    applicationName: 'faults',
    max: 1,
    statementTimeoutMs: 0,
    deadlineMs: 0,
  });
  try {
    await holder.unsafe('begin; select from event_head for update').simple();
    const look = () => sql`
      select from pg_stat_activity where query like '%unnumbered_events%' and cardinality(pg_blocking_pids(pid)) > 0`;
    await lookUntil(look, ({ length }) => length > 0, CAUGHT_MS);
    await work();
  } finally {
    await holder.end({ timeout: 1 });
  }
}

/** Ends the backends that give numbers, or did so last. */
const endWriters = ({ sql }: World) => sql`
  select pg_terminate_backend(pid) from pg_stat_activity
  where pid <> pg_backend_pid() and application_name = 'sameday' and query like '%delete from unnumbered_events%'`;

/** Waits until every event has its number and every follower has read it. */
export async function untilRead(world: World, seen: readonly Seen[]): Promise<string[]> {
  await world.untilDone();
  const look = async (): Promise<string[]> => {
    const rows = await world.sql`
      select retailer_id as id, count(*)::int as events from store_events group by retailer_id`;
    const counts = new Map(rows.map(({ id, events }) => [id, events]));
    const behind = seen.filter(({ store, followed }) => followed.length < (counts.get(store.id) ?? 0));
    return behind.map(({ store, followed }) => {
      return `events: the reader of ${store.id} saw ${followed.length} of ${counts.get(store.id)}`;
    });
  };
  return lookUntil(look, ({ length }) => length === 0, CATCH_UP_MS, POLL_MS);
}

/** Numbers begin with 1 and have no gaps, and within an order they follow its sequence. */
async function findMisnumbered({ sql }: World): Promise<string[]> {
  const rows = await sql`
    select number, row_number() over (order by number) as place, order_id,
      sequence < lag(sequence, 1, 0) over (partition by order_id order by number) as is_early
    from store_events order by number`;
  return rows.flatMap(({ number, place, order_id, is_early }) => [
    ...(String(number) === String(place) ? [] : [`events: number ${number} stands at place ${place}`]),
    ...(is_early ? [`events: number ${number} of order ${order_id} is before its turn`] : []),
  ]);
}

/** Every event of every order is there once, as one snapshot of the tables shows. */
export async function findUntold({ sql }: World): Promise<string[]> {
  const rows = await sql`
    with owed as (
      select e.order_id, e.sequence, t.type, 1 as times
      from order_events e join told_events t on t.event = e.type
    ), told as (
      select order_id, sequence, type, count(*) as times from (
        select order_id, sequence, type from store_events
        union all select order_id, sequence, type from unnumbered_events) all_of_them
      group by order_id, sequence, type
    )
    select coalesce(o.order_id, t.order_id) as order_id, coalesce(o.type, t.type) as type, coalesce(t.times, 0) as times
    from owed o full join told t on t.order_id = o.order_id and t.sequence = o.sequence and t.type = o.type
    where o.times is distinct from t.times`;
  return rows.map(({ order_id, type, times }) => `events: ${type} of order ${order_id} is there ${times} times`);
}

/** A receiver that answers 204 may get a webhook twice, where the worker died, but not as two. */
function findDoubled({ seen }: WebhookReceiver): string[] {
  const ids = new Map<string, Set<unknown>>();
  for (const { headers, event } of seen) {
    const what = `${event.type} ${event.data.order_id} ${event.data.sequence}`;
    ids.set(what, (ids.get(what) ?? new Set()).add(headers['webhook-id']));
  }
  return [...ids].flatMap(([what, { size }]) => (size > 1 ? [`webhooks: ${what} was sent as ${size}`] : []));
}
