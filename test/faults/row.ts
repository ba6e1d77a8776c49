import type { Random } from '../harness/world.ts';
import { findBroken } from './checker.ts';
import { startLoad } from './clients.ts';
import { startDeliveries } from './deliveries.ts';
import { later, openWorld, type World, type WorldSizes } from './world.ts';

export type RowResult = {
  /** Number of injected faults. */
  readonly count: number;
  /** Orders that clients sent meanwhile. */
  readonly orders: number;
  /** Broken promises, one sentence each. */
  readonly findings: readonly string[];
  /** Time from the end of each fault to the service's recovery, in milliseconds. */
  readonly recoveries: readonly number[];
  /** Other measurements, or how a short run was gentler, one sentence each. */
  readonly notes?: readonly string[];
};

export type Row = {
  readonly name: string;
  readonly what: string;
  /** Number of faults at scale 1. */
  readonly count: number;
  readonly needsRedis?: true;
  readonly needsHaproxy?: true;
  /** Whether it runs another version beside this one, from the folder of `--beside`. */
  readonly needsBeside?: true;
  /** Whether it runs a cluster of Postgres. */
  readonly needsCluster?: true;
  /** Whether a node of it stands still, which the Patroni of it has to survive. */
  readonly needsPause?: true;
  /** Whether it makes base backups, for which the embedded Postgres lacks the program. */
  readonly needsBackups?: true;
  /** Whether its hosts have a network of their own. */
  readonly needsNetwork?: true;
  /**
   * @param scale of the whole run, for faults that last long
   * @param beside the folder of another built version
   */
  run(count: number, random: Random, scale: number, beside?: string): Promise<RowResult>;
};

export const SIZES: WorldSizes = { drivers: 4_000, stores: 20, apis: 2, workers: 1 };
export const ORDERS_PER_SECOND = 100;

type FaultUnderLoad<Injected> = Omit<Row, 'run'> & {
  readonly sizes?: Partial<WorldSizes>;
  readonly perSecond?: number;
  /** Share of the clients that have a key and retry until they have an order. */
  readonly keyedShare?: number;
  /** Time after which those clients give up, by default a minute. */
  readonly patienceMs?: number;
  /** The shortest pause before each fault; up to as much is added at random. */
  readonly pauseMs?: number;
  /** Number of faults at the same time. */
  readonly abreast?: number;
  /** Longest recovery; a longer one is a finding. */
  readonly withinMs?: number;
  inject(world: World, random: Random): Promise<Injected>;
  /** Waits for the recovery, by default until every API process accepts orders. */
  recover?(world: World, injected: Injected): Promise<unknown>;
  /** Waits after the recovery until the next fault may come. */
  settle?(world: World, injected: Injected): Promise<unknown>;
  /** Findings besides the promises of every row. */
  check?(world: World): Promise<string[]>;
};

const PAUSE_MS = 300;

/** A fault injected again and again while clients order, drivers deliver and operators cancel. */
export function underLoad<Injected>(fault: FaultUnderLoad<Injected>): Row {
  const {
    sizes,
    perSecond,
    pauseMs = PAUSE_MS,
    abreast = 1,
    withinMs,
    inject,
    recover,
    settle,
    check,
    keyedShare,
    patienceMs,
    ...row
  } = fault;
  return {
    ...row,
    async run(count, random) {
      const world = await openWorld({ ...SIZES, ...sizes });
      try {
        const load = startLoad(world, perSecond ?? ORDERS_PER_SECOND, random, keyedShare, undefined, patienceMs);
        const deliveries = startDeliveries(world, random);
        const recoveries: number[] = [];
        let left = count;
        const injectMore = async (): Promise<void> => {
          while (left-- > 0) {
            await later(pauseMs * (1 + random()));
            const injected = await inject(world, random);
            const endedMs = performance.now();
            await (recover ?? untilReady)(world, injected);
            recoveries.push(performance.now() - endedMs);
            await settle?.(world, injected);
          }
        };
        await Promise.all(Array.from({ length: abreast }, injectMore));
        const problems = await load.stop();
        await deliveries.stop();
        const slow = recoveries.filter((ms) => ms > (withinMs ?? Number.POSITIVE_INFINITY));
        const found = [
          ...problems,
          ...slow.map((ms) => `recovery: it took ${ms.toFixed(0)} ms, and ${withinMs} were promised`),
          ...((await check?.(world)) ?? []),
          ...(await findings(world)),
        ];
        return { count, orders: load.sent(), findings: found, recoveries };
      } finally {
        await world.close();
      }
    },
  };
}

const untilReady = (world: World): Promise<void> => world.untilReady();

/** Findings once nothing is running any more. */
export async function findings(world: World): Promise<string[]> {
  const isDone = await world.untilDone();
  return [
    ...world.ended().map((name) => `process: ${name} ended by itself`),
    ...(isDone ? [] : (await world.owed()).map((job) => `jobs: ${job} is still owed`)),
    ...findBroken(await world.records()),
  ];
}

export const any = <T>(values: readonly T[], random: Random): T => values[Math.floor(random() * values.length)] as T;
