import type { Sql } from 'postgres';
import type { LoadResult } from '../../test/harness/burst.ts';
import type { Report } from '../../test/harness/report.ts';
import { findFaults, shareWithDriver } from './answered.ts';

/**
 * A service under load with its servers, this one or the plain one. Both are measured and judged in the same
 * way.
 */
export type OrderStack = {
  readonly versions: Readonly<Record<string, string>>;
  readonly sql: Sql;
  /** Starts it without a worker, without orders and with every driver free; resolves with its URL. */
  start(): Promise<string>;
  /** Stops the service and leaves its servers running. Idempotent. */
  halt(): Promise<void>;
  close(): Promise<void>;
};

/** One side of the comparison: a stack in one of its variants. */
export type Side = { readonly name: string; readonly stack: OrderStack; setUp(): void };
/** The result with the share of orders that found a driver at once. */
export type Round = LoadResult & { readonly assigned: number };

/** Runs every side in every round, with another one first each time. */
export async function inTurns(
  sides: readonly Side[],
  sizes: { readonly rounds: number; readonly warmUpSeconds: number; readonly seconds: number },
  load: (url: string, seconds: number) => Promise<LoadResult>,
  report: Report,
): Promise<Round[][]> {
  const rounds: Round[][] = sides.map(() => []);
  for (let round = 0; round < sizes.rounds; round++) {
    for (let turn = 0; turn < sides.length; turn++) {
      const at = (round + turn) % sides.length;
      const { name, stack, setUp } = sides[at] as Side;
      setUp();
      const url = await stack.start();
      const before = await load(url, sizes.warmUpSeconds);
      const result = await load(url, sizes.seconds);
      await check(name, stack, [before, result], report);
      rounds[at]?.push({ ...result, assigned: await shareWithDriver(stack) });
      await stack.halt();
    }
  }
  return rounds;
}

/** Records what makes the run worthless. */
export async function check(
  name: string,
  stack: OrderStack,
  results: readonly LoadResult[],
  report: Report,
): Promise<void> {
  const faults = [
    ...results.flatMap((result) => result.faults),
    ...(await findFaults(
      stack,
      results.flatMap(({ orderIds }) => orderIds),
    )),
  ];
  for (const fault of new Set(faults)) report.failed(`${name}: ${fault}`);
}
