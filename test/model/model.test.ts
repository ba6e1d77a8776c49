import { expect, it } from 'vitest';
import { isFull } from '../harness/counts.ts';
import { DAY_MS } from '../harness/patience.ts';
import { makeCommands } from './commands.ts';
import { useModelDatabase } from './database.ts';
import { Day } from './day.ts';
import { COMMANDS, runSeed, type Trace, traceOf, traceText } from './run.ts';

/** Without MODEL_SECONDS: some short days of several kinds, together as long as a whole one, or many whole ones. */
const SHORT_SEEDS = [8, 10, 11, 12];
const SHORT_COMMANDS = 6;
const WHOLE_DAYS = 120;
const SAME_SEED = 8;
const SAME_COMMANDS = 25;
const { MODEL_SECONDS, MODEL_SEED = '1', MODEL_IGNORE = '', MODEL_MOST = '1', MODEL_SHRINK = '120' } = process.env;
const isShort = MODEL_SECONDS === undefined && !isFull;
const commands = isShort ? SHORT_COMMANDS : Number(process.env.MODEL_COMMANDS ?? COMMANDS);

const daysMs =
  MODEL_SECONDS === undefined
    ? (isShort ? SHORT_SEEDS.length : WHOLE_DAYS) * DAY_MS
    : Number(MODEL_SECONDS) * 1_000 + DAY_MS;
const shrinkMs = Number(MODEL_MOST) * (Number(MODEL_SHRINK) * 1_000 + DAY_MS);
const timeout = daysMs + shrinkMs;

const database = useModelDatabase();

it('gives every order by the rules on random days, and keeps memory as the tables are', { timeout }, async () => {
  const beganMs = performance.now();
  let days = 0;
  const ignored = new Set(MODEL_IGNORE.split(',').filter((kind) => kind !== ''));
  const traces: Trace[] = [];
  for (const seed of seeds(beganMs)) {
    if (traces.length >= Number(MODEL_MOST)) break;
    days++;
    const parts = { database: database(), heeds: (kind: string) => !ignored.has(kind), commands };
    const finding = await runSeed(parts, seed);
    if (!finding) continue;
    const trace = await traceOf(parts, seed, finding, Number(MODEL_SHRINK) * 1_000);
    traces.push(trace);
    console.log(traceText(trace));
    ignored.add(finding.kind);
  }
  console.log(`${days} days in ${Math.round((performance.now() - beganMs) / 1_000)} s`);
  expect(traces.map(traceText)).toEqual([]);
});

function* seeds(beganMs: number): Generator<number> {
  if (isShort) return yield* SHORT_SEEDS;
  const first = Number(MODEL_SEED);
  const isOver = (seed: number) =>
    MODEL_SECONDS === undefined
      ? seed >= first + WHOLE_DAYS
      : performance.now() > beganMs + Number(MODEL_SECONDS) * 1_000;
  for (let seed = first; !isOver(seed); seed++) yield seed;
}

it('makes the same day of the same seed', async () => {
  const gifts = async () => {
    const day = new Day({ database: database(), seed: SAME_SEED, heeds: () => false });
    await day.run(makeCommands(SAME_SEED, SAME_COMMANDS));
    return day.judge.gifts;
  };
  const first = await gifts();
  expect(first).not.toEqual([]);
  expect(await gifts()).toEqual(first);
});
