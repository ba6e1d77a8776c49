import { afterAll, beforeAll, expect, it } from 'vitest';
import { runs } from '../harness/counts.ts';
import { makeCommands } from './commands.ts';
import { type ModelDatabase, openModelDatabase } from './database.ts';
import { Day } from './day.ts';
import { runSeed, type Trace, traceOf, traceText } from './run.ts';

/** Without MODEL_SECONDS. */
const SEEDS = runs(1, 120);
const SAME_SEED = 8;
const SAME_COMMANDS = 25;
const { MODEL_SECONDS, MODEL_SEED = '1', MODEL_IGNORE = '', MODEL_MOST = '1', MODEL_SHRINK = '120' } = process.env;

let database: ModelDatabase;
beforeAll(async () => {
  database = await openModelDatabase();
});
afterAll(() => database?.close());

it('gives every order by the rules on random days, and keeps memory as the tables are', { timeout: 0 }, async () => {
  const first = Number(MODEL_SEED);
  const beganMs = performance.now();
  const isOver = (seed: number) =>
    MODEL_SECONDS === undefined ? seed >= first + SEEDS : performance.now() > beganMs + Number(MODEL_SECONDS) * 1_000;
  const ignored = new Set(MODEL_IGNORE.split(',').filter((kind) => kind !== ''));
  const traces: Trace[] = [];
  let seed = first;
  for (; !isOver(seed) && traces.length < Number(MODEL_MOST); seed++) {
    const parts = { database, heeds: (kind: string) => !ignored.has(kind) };
    const finding = await runSeed(parts, seed);
    if (!finding) continue;
    const trace = await traceOf(parts, seed, finding, Number(MODEL_SHRINK) * 1_000);
    traces.push(trace);
    console.log(traceText(trace));
    ignored.add(finding.kind);
  }
  console.log(`${seed - first} days in ${Math.round((performance.now() - beganMs) / 1_000)} s`);
  expect(traces.map(traceText)).toEqual([]);
});

it('makes the same day of the same seed', { timeout: 0 }, async () => {
  const gifts = async () => {
    const day = new Day({ database, seed: SAME_SEED, heeds: () => false });
    await day.run(makeCommands(SAME_SEED, SAME_COMMANDS));
    return day.judge.gifts;
  };
  const first = await gifts();
  expect(first).not.toEqual([]);
  expect(await gifts()).toEqual(first);
});
