import { newId } from '../../../src/domain/ids.ts';
import { END_LEASES_ROWS } from '../../../src/queues/sweeper.ts';
import { lookUntil, type World } from '../world.ts';

/** More than one part of ended leases, so that the rest shows whether the parts go on. */
const OWED_ROWS = END_LEASES_ROWS + 1_000;
/** Rows that finish one after the other, those whose lease ends first. */
const FINISHED_ROWS = 1_000;
/** For so long a finishing row is locked; the statement that ends leases waits for it. */
const FINISHING_SECONDS = 0.02;
const POLL_MS = 50;

export type Owed = {
  /** Ends the finishing, and waits until all rows are owed again; a sentence where that is too late. */
  untilTaken(deadlineMs: number): Promise<string[]>;
};

/**
 * Owes OWED_ROWS jobs that find nothing to do, as they are after their hand-over: leased for a quarter of an
 * hour, and only in the Redis that loses them. From now on some of them finish, one at any moment.
 */
export async function oweMuch({ sql, isClosed }: World): Promise<Owed> {
  const retailerId = newId();
  const rows = await sql`
    insert into outbox (queue, order_id, retailer_id, lease_until)
    select 'locate', gen_random_uuid(), ${retailerId}, now() + interval '15 minutes' + n * interval '1 millisecond'
    from generate_series(1, ${OWED_ROWS}::int) n returning id`;
  const first = rows.slice(0, FINISHED_ROWS).map(({ id }) => Number(id));
  let isStopped = false;
  async function finish(): Promise<void> {
    for (const id of first) {
      if (isStopped || isClosed()) return;
      await sql`
        with finished as (update outbox set done_at = now() where id = ${id} and done_at is null returning id)
        select pg_sleep(${FINISHING_SECONDS}) from finished`;
    }
  }
  const finishing = finish();
  // Those whose lease goes on for minutes: how fast a machine does the others is no matter here.
  const countLeft = async (): Promise<number> => {
    const [row] = await sql`
      select count(*)::int as rows from outbox
      where retailer_id = ${retailerId} and done_at is null and relays = 0 and lease_until > now() + interval '1 minute'`;
    return row?.rows;
  };
  return {
    async untilTaken(deadlineMs) {
      const left = await lookUntil(countLeft, (rows) => rows === 0, deadlineMs - performance.now(), POLL_MS);
      isStopped = true;
      await finishing;
      return left > 0 ? [`redis: ${left} of ${OWED_ROWS} owed jobs were not owed again in time after its return`] : [];
    },
  };
}
