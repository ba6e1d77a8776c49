import { assignedShare, type Bench, BURST, check, median, percent, ratesOf, sendBurst } from './orders-bench.ts';
import { withParseOnly } from './parse-only.ts';
import { startPart } from './part.ts';

type Round = { readonly perSecond: number; readonly min?: number; readonly p50?: number; readonly p99?: number };
type OurRound = Round & { readonly batches: readonly number[]; readonly assigned: string };

/**
 * Measures how many orders the service creates, matches and makes durable, counted by their 201s. No worker
 * runs; the warm-up fills the queues, so that the jobs of what is measured stay in the outbox. In turns with
 * it run the same server that only parses, validates and replies, and the bare inserts.
 */
export async function burstSection(bench: Bench): Promise<void> {
  const { options, report, known } = bench;
  const ours: OurRound[] = [];
  const parseOnly: Round[] = [];
  const bare: Round[] = [];
  for (let round = 0; round < options.rounds; round++) {
    ours.push(await ourRound(bench));
    const { batches } = ours.at(-1) as OurRound;
    bare.push(await bareRound(bench, batches));
    parseOnly.push(await parseRound(bench));
  }
  const rate = (rounds: readonly Round[]) => median(rounds.map(({ perSecond }) => perSecond));
  const row = (name: string, rounds: readonly Round[], assigned: string) => {
    const of = (pick: (round: Round) => number | undefined) => median(rounds.map((r) => pick(r) ?? Number.NaN));
    const rates = ratesOf(rounds.map(({ perSecond }) => perSecond));
    const latencies = [of((r) => r.min), of((r) => r.p50), of((r) => r.p99)];
    return [name, ...rates, percent(rate(ours) / rate(rounds)), ...latencies, assigned];
  };
  const batches = ours.flatMap((round) => round.batches);
  report.table(
    `Burst: ${options.connections} connections, ${options.drivers} drivers, ${options.rounds} rounds of ${options.seconds} s`,
    ['', 'orders/s (median)', 'min', 'mean ± deviation', 'ours is', 'min ms', 'p50 ms', 'p99 ms', 'driver at once'],
    [
      row('created, matched, durable', ours, ours.at(-1)?.assigned ?? ''),
      row('parse, validate, reply', parseOnly, '–'),
      row('bare inserts, one commit in flight', bare, '100.0 %'),
    ],
  );
  report.note(
    `Orders a commit: ${median(batches)} at the median, ${Math.max(...batches)} at most; the bare inserts take the same batches.`,
  );
  known.set('burst', rate(ours));
  report.atLeast(
    'burst: share of what parsing, validating and replying alone takes',
    rate(ours) / rate(parseOnly),
    0.3,
  );
  report.atLeast('burst: share of the bare inserts', rate(ours) / rate(bare), 0.5);
}

async function ourRound(bench: Bench): Promise<OurRound> {
  const { stack, options } = bench;
  const started = await stack.start(BURST);
  const before = await sendBurst(bench, started, { amount: options.warmUpOrders });
  const result = await sendBurst(bench, started, {});
  await check(bench, started, [before, result]);
  await countRows(bench, before.created + result.created);
  await stack.halt();
  return { ...result, batches: await batchesOf(bench), assigned: await assignedShare(bench) };
}

/** Only answered orders are there, besides those in flight when a load ended. */
async function countRows({ stack, options, report }: Bench, answered: number): Promise<void> {
  const [row] = await stack.sql`select count(*)::int as rows from orders`;
  const more = row?.rows - answered;
  if (more < 0 || more > 2 * options.connections)
    report.failed(`${answered} orders were answered, ${row?.rows} stored`);
}

/**
 * Orders of each commit, in order: rows of one transaction that nothing has changed since. The warm-up's
 * small ones are skipped.
 */
async function batchesOf({ stack }: Bench): Promise<number[]> {
  const rows = await stack.sql`
    select count(*)::int as orders from orders where driver_id is not null group by xmin::text order by min(created_at)`;
  const sizes = rows.map((row) => row.orders as number);
  return sizes.slice(Math.floor(sizes.length / 2)).slice(0, 500);
}

async function parseRound(bench: Bench): Promise<Round> {
  const { options, report } = bench;
  return withParseOnly(options.stores, async (url) => {
    const before = await sendBurst(bench, { url }, { seconds: options.warmUpSeconds });
    const result = await sendBurst(bench, { url }, {});
    for (const fault of [...before.faults, ...result.faults]) report.failed(`parse only: ${fault}`);
    return result;
  });
}

async function bareRound({ stack, options, report }: Bench, batches: readonly number[]): Promise<Round> {
  await stack.reset();
  const part = await startPart('bench/peers/bare-inserts.ts', {
    DATABASE_URL: stack.databaseUrl,
    DRIVERS: String(options.drivers),
    STORES: String(options.stores),
    WARM_UP: String(options.warmUpSeconds),
    SECONDS: String(options.seconds),
    BATCHES: batches.join(','),
  });
  await part.stop();
  const [row] = await stack.sql`select count(*)::int as orders from orders where status = 'driver_assigned'`;
  const perSecond = Number(part.said.replace('ready ', ''));
  if (!row?.orders || !(perSecond > 0)) report.failed('bare inserts: nothing was inserted');
  return { perSecond };
}
