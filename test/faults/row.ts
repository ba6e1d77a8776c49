import type { Random } from '../harness/world.ts';
import { findBroken } from './checker.ts';
import { startLoad } from './clients.ts';
import { startDeliveries } from './deliveries.ts';
import { later, openWorld, type World, type WorldSizes } from './world.ts';

export type RowResult = {
  /** How often the fault was injected. */
  readonly count: number;
  /** Orders that clients wanted meanwhile. */
  readonly orders: number;
  /** Promises that were broken, a sentence each. */
  readonly findings: readonly string[];
  /** From the end of each fault until the service worked again, in ms. */
  readonly recoveries: readonly number[];
  /** What else was measured, or that a short run was gentler; a sentence each. */
  readonly notes?: readonly string[];
};

export type Row = {
  readonly name: string;
  readonly what: string;
  /** How often the fault is injected at scale 1. */
  readonly count: number;
  readonly needsRedis?: true;
  /** @param scale of the whole run, for faults that last long */
  run(count: number, random: Random, scale: number): Promise<RowResult>;
};

export const SIZES: WorldSizes = { drivers: 4_000, stores: 20, apis: 2, workers: 1 };
const ORDERS_PER_SECOND = 100;

type FaultUnderLoad<Injected> = Omit<Row, 'run'> & {
  readonly sizes?: Partial<WorldSizes>;
  readonly perSecond?: number;
  /** How many of the clients have a key, and try again until they have an order. */
  readonly keyedShare?: number;
  /** The shortest pause before each fault, and as much again by chance. */
  readonly pauseMs?: number;
  /** How many faults are at work side by side. */
  readonly abreast?: number;
  /** A recovery that takes longer is a finding. */
  readonly withinMs?: number;
  inject(world: World, random: Random): Promise<Injected>;
  /** Waits until the service works again; until every API process takes orders, unless told. */
  recover?(world: World, injected: Injected): Promise<unknown>;
  /** What is found broken beside the promises of every row. */
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
    check,
    keyedShare,
    ...row
  } = fault;
  return {
    ...row,
    async run(count, random) {
      const world = await openWorld({ ...SIZES, ...sizes });
      try {
        const load = startLoad(world, perSecond ?? ORDERS_PER_SECOND, random, keyedShare);
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

/** What is found broken once nothing is at work any more. */
export async function findings(world: World): Promise<string[]> {
  const isDone = await world.untilDone();
  return [
    ...world.ended().map((name) => `process: ${name} ended by itself`),
    ...(isDone ? [] : ['jobs: some are still owed']),
    ...findBroken(await world.records()),
  ];
}

export const any = <T>(values: readonly T[], random: Random): T => values[Math.floor(random() * values.length)] as T;
