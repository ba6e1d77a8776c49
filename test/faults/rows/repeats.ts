import type { Random } from '../../../bench/support/world.ts';
import { anyOrder } from '../clients.ts';
import { wantImpatiently } from '../impatient.ts';
import { findings, type Row, SIZES } from '../row.ts';
import { later, openWorld, type World } from '../world.ts';

const AT_ONCE = 20;
/** So long that a commit's outcome can't be found out in time, and its callers are told 504. */
const UNKNOWN_MS = 12_000;

export const noKeyRetries: Row = {
  name: 'no-key-retries',
  what: 'clients without a key leave after 0 to 50 ms and send the same again; in between commits are blocked or stopped',
  count: 500,
  async run(count, random) {
    const world = await openWorld(SIZES);
    try {
      const problems: (string | null)[] = [];
      for (let done = 0, round = 0; done < count; done += AT_ONCE, round++) {
        const orders = Array.from({ length: Math.min(AT_ONCE, count - done) }, () => ({
          ...anyOrder(world, random, false),
          repeats: true,
        }));
        const stalled = stall(world, round, random);
        problems.push(...(await Promise.all(orders.map((order) => wantImpatiently(world, order, random)))));
        await stalled;
      }
      const told = problems.filter((problem) => problem !== null);
      return { count, orders: count, findings: [...told, ...(await findings(world))], recoveries: [] };
    } finally {
      await world.close();
    }
  },
};

/** Every third round commits wait for a lock for up to 3 s; in every tenth they are stopped in the middle as well. */
async function stall({ sql }: World, round: number, random: Random): Promise<void> {
  if (round % 3 !== 1) return;
  const seconds = 0.2 + random() * 2.8;
  // After the order's own row was written, so that whoever settles it must wait, too.
  const locked = sql.unsafe(
    `do $$ begin lock table customers in exclusive mode; perform pg_sleep(${seconds.toFixed(2)}); end $$`,
  );
  if (round % 10 === 1) await stopCommits(sql);
  await locked;
}

async function stopCommits(sql: World['sql']): Promise<void> {
  await later(100);
  const rows = await sql`
    select pid from pg_stat_activity where application_name = 'sameday commits' and wait_event_type = 'Lock'`;
  for (const { pid } of rows) process.kill(pid, 'SIGSTOP');
  await later(UNKNOWN_MS);
  for (const { pid } of rows) process.kill(pid, 'SIGCONT');
}
