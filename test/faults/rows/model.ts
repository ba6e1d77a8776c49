import fc from 'fast-check';
import sharp from 'sharp';
import { storeOf } from '../../harness/store.ts';
import type { Random } from '../../harness/world.ts';
import { anyCommand, anyPlanned, anyRequest, anyWithSweeps, type Command } from '../model/commands.ts';
import { openGate } from '../model/gate.ts';
import { openProcess } from '../model/in-process.ts';
import { overHttp } from '../model/over-http.ts';
import { runSequence } from '../model/sequence.ts';
import { compareTables } from '../model/tables.ts';
import { findings as brokenPromises, type Row } from '../row.ts';
import { openWorld } from '../world.ts';

/** Places with a running sequence, far from each other. */
const PLACES = 8;
const LONGEST = 150;
const LONGEST_OVER_HTTP = 60;
/** Time after which a match came from a sweep and not from an event. */
const SLOW_MS = 2_000;
/** Time for which a shorter failing sequence is sought. */
const SHRINKING_MS = 60_000;

/**
 * Runs sequences at every place until this many commands were carried out; returns the failures with seed and
 * shortest sequence.
 */
async function runAll(
  count: number,
  random: Random,
  any: fc.Arbitrary<Command>,
  run: (commands: readonly Command[]) => Promise<string | null>,
  longest = LONGEST,
  places = PLACES,
): Promise<{ readonly count: number; readonly findings: string[] }> {
  const findings: string[] = [];
  let done = 0;
  async function keepRunning(): Promise<void> {
    while (done < count && findings.length === 0) {
      const commands = fc.array(any, { minLength: 10, maxLength: longest, size: 'max' });
      const property = fc.asyncProperty(commands, async (sequence) => {
        const problem = await run(sequence);
        done += sequence.length;
        if (problem !== null) throw new Error(problem);
      });
      const seed = Math.floor(random() * 2 ** 31);
      const told = await fc.check(property, { seed, numRuns: 1, interruptAfterTimeLimit: SHRINKING_MS });
      if (told.failed) findings.push(`model: ${problemOf(told)}`);
    }
  }
  await Promise.all(Array.from({ length: places }, keepRunning));
  return { count: done, findings };
}

function problemOf({ seed, counterexample, errorInstance }: fc.RunDetails<[Command[]]>): string {
  return `${(errorInstance as Error | null)?.message} (seed ${seed}; after ${JSON.stringify(counterexample?.[0])})`;
}

export const modelInProcess: Row = {
  name: 'model-in-process',
  what: 'a command of a random sequence, compared with a model; in one process',
  count: 100_000,
  needs: ['redis'],
  async run(count, random) {
    const world = await openWorld({ drivers: 0, stores: 0, apis: 0, workers: 0 });
    const { sql } = world;
    try {
      // Nothing here tests a power cut, so nothing waits for the disk.
      await sql`alter system set synchronous_commit = off`;
      await sql`select pg_reload_conf()`;
      const tiers = await storeOf(sql).loadTiers();
      const process = await openProcess(world.postgres.url, tiers);
      const run = (commands: readonly Command[]) => runSequence(process, { sql, tiers }, commands);
      const half = Math.ceil(count / 2);
      const parts = [];
      for (const any of [anyCommand, anyWithSweeps]) parts.push(await runAll(half, random, any, run));
      await process.close();
      const [row] = await sql`select count(*)::int as orders from orders`;
      return {
        count: parts.reduce((sum, part) => sum + part.count, 0),
        orders: row?.orders,
        findings: parts.flatMap(({ findings }) => findings),
        recoveries: [],
      };
    } finally {
      await world.close();
    }
  },
};

const LONGEST_PLANNED = 80;

export const modelPlanned: Row = {
  name: 'model-planned',
  what: 'the same with a planner: orders for later, windows, drivers with room for several, dispatch modes',
  count: 6_000,
  needs: ['redis'],
  async run(count, random) {
    const world = await openWorld({ drivers: 0, stores: 0, apis: 0, workers: 0 });
    const { sql } = world;
    try {
      await sql`alter system set synchronous_commit = off`;
      await sql`select pg_reload_conf()`;
      const tiers = await storeOf(sql).loadTiers();
      const process = await openProcess(world.postgres.url, tiers, openGate());
      const run = (commands: readonly Command[]) => runSequence(process, { sql, tiers }, commands);
      // One place, as its commands hold back the planner of all.
      const ran = await runAll(count, random, anyPlanned, run, LONGEST_PLANNED, 1);
      await process.close();
      const [row] = await sql`
        select (select count(*) from orders)::int as orders,
          (select count(*) from order_events where considered like '% costlier %')::int as chosen`;
      const notes = [`of ${row?.chosen} assignments the record says what they cost beside other drivers`];
      return { ...ran, orders: row?.orders, recoveries: [], notes };
    } finally {
      await world.close();
    }
  },
};

export const modelOverHttp: Row = {
  name: 'model-over-http',
  what: 'a request of a random sequence, compared with a model; over HTTP, at any of three API processes',
  count: 2_000,
  needs: ['redis'],
  async run(count, random) {
    const world = await openWorld({ drivers: 0, stores: 0, apis: 3, workers: 2 });
    const { sql } = world;
    try {
      const tiers = await storeOf(sql).loadTiers();
      const photo = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'green' } })
        .jpeg()
        .toBuffer();
      const service = overHttp(world, random, photo);
      const run = (commands: readonly Command[]) => runSequence(service, { sql, tiers }, commands);
      const ran = await runAll(count, random, anyRequest, run, LONGEST_OVER_HTTP);
      const findings = [...ran.findings, ...(await brokenPromises(world))];
      for (const model of service.ended) {
        const problem = await compareTables(sql, model, false);
        if (problem !== null) findings.push(`model: ${problem}`);
      }
      const [row] = await sql`select count(*)::int as orders from orders`;
      const slow = service.convergedMs.filter((ms) => ms > SLOW_MS);
      const most = Math.max(...service.convergedMs).toFixed(0);
      const notes = [
        `of ${service.convergedMs.length} commands ${slow.length} converged later than after ${SLOW_MS} ms; at most ${most} ms`,
      ];
      return { count: ran.count, orders: row?.orders, findings, recoveries: [], notes };
    } finally {
      await world.close();
    }
  },
};
