import fc from 'fast-check';
import type { Tiers } from '../../../src/domain/tier.ts';
import type { Sql } from '../../../src/postgres/connect.ts';
import { storeOf } from '../../harness/store.ts';
import type { Random } from '../../harness/world.ts';
import { anyCommand, anyRequest, anyWithSweeps, type Command } from '../model/commands.ts';
import { openProcess } from '../model/in-process.ts';
import { overHttp } from '../model/over-http.ts';
import { runSequence } from '../model/sequence.ts';
import { compareTables } from '../model/tables.ts';
import { smallPhoto } from '../phones.ts';
import { inWorld, type Row, type RowResult } from '../row.ts';
import type { World } from '../world.ts';

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
  await Promise.all(Array.from({ length: PLACES }, keepRunning));
  return { count: done, findings };
}

function problemOf({ seed, counterexample, errorInstance }: fc.RunDetails<[Command[]]>): string {
  return `${(errorInstance as Error | null)?.message} (seed ${seed}; after ${JSON.stringify(counterexample?.[0])})`;
}

/** A world without the service, whose tables are those of a process in this one. */
const inTables = (act: (world: World, tiers: Tiers) => Promise<RowResult>): Promise<RowResult> =>
  inWorld(
    { drivers: 0, stores: 0, apis: 0, workers: 0 },
    async (world) => {
      // Nothing here tests a power cut, so nothing waits for the disk.
      await world.sql`alter system set synchronous_commit = off`;
      await world.sql`select pg_reload_conf()`;
      return act(world, await storeOf(world.sql).loadTiers());
    },
    async () => [],
  );

export const modelInProcess: Row = {
  name: 'model-in-process',
  what: 'a command of a random sequence, compared with a model; in one process',
  count: 100_000,
  needs: ['redis'],
  run: (count, random) =>
    inTables(async ({ sql, postgres }, tiers) => {
      const process = await openProcess(postgres.url, tiers);
      const run = (commands: readonly Command[]) => runSequence(process, { sql, tiers }, commands);
      const half = Math.ceil(count / 2);
      const parts = [];
      for (const any of [anyCommand, anyWithSweeps]) parts.push(await runAll(half, random, any, run));
      await process.close();
      return {
        count: parts.reduce((sum, part) => sum + part.count, 0),
        orders: await countOrders(sql),
        findings: parts.flatMap(({ findings }) => findings),
      };
    }),
};

export const modelOverHttp: Row = {
  name: 'model-over-http',
  what: 'a request of a random sequence, compared with a model; over HTTP, at any of three API processes',
  count: 2_000,
  needs: ['redis'],
  run: (count, random) =>
    inWorld({ drivers: 0, stores: 0, apis: 3, workers: 2 }, async (world) => {
      const { sql } = world;
      const tiers = await storeOf(sql).loadTiers();
      const service = overHttp(world, random, await smallPhoto());
      const run = (commands: readonly Command[]) => runSequence(service, { sql, tiers }, commands);
      const { count: done, findings } = await runAll(count, random, anyRequest, run, LONGEST_OVER_HTTP);
      const check = async (): Promise<string[]> => {
        const problems = [];
        for (const model of service.ended) problems.push(await compareTables(sql, model, false));
        return problems.flatMap((problem) => (problem === null ? [] : [`model: ${problem}`]));
      };
      const slow = service.convergedMs.filter((ms) => ms > SLOW_MS);
      const most = Math.max(...service.convergedMs).toFixed(0);
      const notes = [
        `of ${service.convergedMs.length} commands ${slow.length} converged later than after ${SLOW_MS} ms; at most ${most} ms`,
      ];
      return { count: done, orders: await countOrders(sql), findings, check, notes };
    }),
};

const countOrders = async (sql: Sql): Promise<number> =>
  (await sql`select count(*)::int as orders from orders`)[0]?.orders;
