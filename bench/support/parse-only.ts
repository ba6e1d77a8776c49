import { startPart } from './part.ts';

/**
 * Runs the same server that only parses, validates and replies, for as long as `work` takes; it knows this
 * many stores of the seeded world.
 */
export async function withParseOnly<Result>(stores: number, work: (url: string) => Promise<Result>): Promise<Result> {
  const part = await startPart('bench/peers/parse-only.ts', { STORES: String(stores) });
  try {
    return await work(part.said.replace('ready ', ''));
  } finally {
    await part.stop();
  }
}
