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
  readonly recoveries?: readonly number[];
  /** Other measurements, or how a short run was gentler, one sentence each. */
  readonly notes?: readonly string[];
};

/**
 * What a machine may lack. `beside`: another version, from the folder of `--beside`. `cluster`: the programs of a
 * cluster of Postgres. `pause`: a Patroni that survives a node that stands still. `backups`: the program for base
 * backups, which the embedded Postgres lacks. `network`: hosts with a network of their own.
 */
export type Need = 'redis' | 'haproxy' | 'beside' | 'cluster' | 'pause' | 'backups' | 'network';

export type Row = {
  readonly name: string;
  readonly what: string;
  /** Number of faults at scale 1. */
  readonly count: number;
  readonly needs?: readonly Need[];
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

/** What was done in a world, and a look at it once nothing is running any more. */
type Acted = RowResult & { readonly check?: () => Promise<readonly string[]> };

/**
 * Opens a world of the usual sizes, but for these, and acts in it. What is found there then is added to the findings.
 *
 * @param judge looks for broken promises
 */
export async function inWorld(
  sizes: Partial<WorldSizes> | undefined,
  act: (world: World) => Promise<Acted>,
  judge: (world: World) => Promise<string[]> = findings,
): Promise<RowResult> {
  const world = await openWorld({ ...SIZES, ...sizes });
  try {
    const { check, ...told } = await act(world);
    const judged = await judge(world);
    return { ...told, findings: [...told.findings, ...judged, ...((await check?.()) ?? [])] };
  } finally {
    await world.close();
  }
}

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
    run: (count, random) =>
      inWorld(sizes, async (world) => {
        const load = startLoad(world, perSecond ?? ORDERS_PER_SECOND, random, keyedShare, undefined, patienceMs);
        const deliveries = startDeliveries(world, random);
        const recoveries: number[] = [];
        await repeat(count, abreast, async () => {
          await later(pauseMs * (1 + random()));
          const injected = await inject(world, random);
          const endedMs = performance.now();
          await (recover ?? untilReady)(world, injected);
          recoveries.push(performance.now() - endedMs);
          await settle?.(world, injected);
        });
        const problems = await load.stop();
        await deliveries.stop();
        const slow = recoveries.filter((ms) => ms > (withinMs ?? Number.POSITIVE_INFINITY));
        const found = [
          ...problems,
          ...slow.map((ms) => `recovery: it took ${ms.toFixed(0)} ms, and ${withinMs} were promised`),
          ...((await check?.(world)) ?? []),
        ];
        return { count, orders: load.sent(), findings: found, recoveries };
      }),
  };
}

const untilReady = (world: World): Promise<void> => world.untilReady();

/** Findings once nothing is running any more. */
export async function findings(world: World): Promise<string[]> {
  const isDone = await world.untilDone();
  return [
    ...(await endedOnes(world)),
    ...(isDone ? [] : (await world.owed()).map((job) => `jobs: ${job} is still owed`)),
    ...findBroken(await world.records()),
  ];
}

/** The processes that ended by themselves, for a row that judges its orders by rules of its own. */
export const endedOnes = async (world: World): Promise<string[]> =>
  world.ended().map((name) => `process: ${name} ended by itself`);

/** Does something so many times, some of them at a time. */
export async function repeat(times: number, atOnce: number, act: (i: number) => Promise<unknown>): Promise<void> {
  let begun = 0;
  const work = async (): Promise<void> => {
    while (begun < times) await act(begun++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

export const below = (random: Random, end: number): number => Math.floor(random() * end);

export const any = <T>(values: readonly T[], random: Random): T => values[below(random, values.length)] as T;
