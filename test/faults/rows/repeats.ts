import type { Random } from '../../harness/world.ts';
import { anyOrder } from '../clients.ts';
import { wantImpatiently } from '../impatient.ts';
import { inWorld, type Row } from '../row.ts';
import { later, type World } from '../world.ts';

const AT_ONCE = 20;
/** Long enough that a commit's outcome cannot be resolved in time, and its callers get 504. */
const UNKNOWN_MS = 12_000;

export const noKeyRetries: Row = {
  name: 'no-key-retries',
  what: 'clients without a key leave after 0 to 50 ms and repeat it there, or a second later anywhere; some commits are blocked or stopped',
  count: 500,
  run: (count, random) =>
    inWorld({}, async (world) => {
      await installGate(world.sql);
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
      return { count, orders: count, findings: told };
    }),
};

/** Commits that insert a customer, after the order's row, wait while the lock is held. */
const installGate = (sql: World['sql']) =>
  sql.unsafe(`
    create function wait_at_gate() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(7); return new; end $$;
    create trigger wait_at_gate before insert on customers for each row execute function wait_at_gate()`);

/**
 * In every third round commits wait for up to 3 s, in turn before they write anything and in their middle; in
 * every tenth they are also stopped there, so that their outcome cannot be resolved.
 */
async function stall({ sql }: World, round: number, random: Random): Promise<void> {
  if (round % 3 !== 1) return;
  const isStopped = round % 10 === 1;
  const inTheMiddle = isStopped || round % 2 === 0;
  const lock = inTheMiddle ? 'perform pg_advisory_xact_lock(7)' : 'lock table customers in exclusive mode';
  const seconds = (isStopped ? 1 : 0.2) + random() * 2;
  const locked = sql.unsafe(`do $$ begin ${lock}; perform pg_sleep(${seconds.toFixed(2)}); end $$`);
  // A statement is sent when it is awaited.
  await Promise.all([locked, isStopped ? stopCommits(sql) : undefined]);
}

async function stopCommits(sql: World['sql']): Promise<void> {
  await later(300);
  const rows = await sql`
    select pid from pg_stat_activity where application_name like 'sameday commits%' and wait_event_type = 'Lock'`;
  for (const { pid } of rows) process.kill(pid, 'SIGSTOP');
  await later(UNKNOWN_MS);
  for (const { pid } of rows) process.kill(pid, 'SIGCONT');
}
