import type { Random } from '../../bench/support/world.ts';
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
  /** What else was measured, a sentence each. */
  readonly notes?: readonly string[];
};

export type Row = {
  readonly name: string;
  readonly what: string;
  /** How often the fault is injected at scale 1. */
  readonly count: number;
  readonly needsRedis?: true;
  run(count: number, random: Random): Promise<RowResult>;
};

export const SIZES: WorldSizes = { drivers: 4_000, stores: 20, apis: 2, workers: 1 };
const ORDERS_PER_SECOND = 100;

type FaultUnderLoad = Omit<Row, 'run'> & {
  readonly sizes?: Partial<WorldSizes>;
  readonly perSecond?: number;
  inject(world: World, random: Random): Promise<void>;
  /** Waits until the service works again; until every API process takes orders, unless told. */
  recover?(world: World): Promise<unknown>;
};

/** A fault injected again and again while clients order, drivers deliver and operators cancel. */
export function underLoad({ sizes, perSecond, inject, recover, ...row }: FaultUnderLoad): Row {
  return {
    ...row,
    async run(count, random) {
      const world = await openWorld({ ...SIZES, ...sizes });
      try {
        const load = startLoad(world, perSecond ?? ORDERS_PER_SECOND, random);
        const deliveries = startDeliveries(world, random);
        const recoveries: number[] = [];
        for (let i = 0; i < count; i++) {
          await later(300 + random() * 500);
          await inject(world, random);
          const endedMs = performance.now();
          await (recover ?? untilReady)(world);
          recoveries.push(performance.now() - endedMs);
        }
        const problems = await load.stop();
        await deliveries.stop();
        return { count, orders: load.sent(), findings: [...problems, ...(await findings(world))], recoveries };
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
