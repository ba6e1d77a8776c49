import { type Command, makeCommands } from './commands.ts';
import type { ModelDatabase } from './database.ts';
import { Day, type Finding, type Plant } from './day.ts';
import { shrink } from './shrink.ts';

/** Commands of a random day after its opening. */
export const COMMANDS = 45;
/** Longest time for making a trace shorter. */
const SHRINK_MS = 120_000;

/** What the model found: the seed finds it again, and the commands are the fewest that do. */
export type Trace = { readonly seed: number; readonly finding: Finding; readonly commands: readonly Command[] };

export type RunParts = {
  readonly database: ModelDatabase;
  readonly plant?: Plant | undefined;
  /** Whether a kind of finding counts; all do by default. */
  readonly heeds?: ((kind: string) => boolean) | undefined;
  /** How many commands a day has; {@link COMMANDS} by default. */
  readonly commands?: number | undefined;
};

/** Carries out the random day of a seed; returns the first finding, or null. */
export function runSeed(parts: RunParts, seed: number): Promise<Finding | null> {
  return new Day({ ...parts, seed }).run(makeCommands(seed, parts.commands ?? COMMANDS));
}

/** Makes the trace of a finding shorter, as far as there is time. */
export async function traceOf(parts: RunParts, seed: number, finding: Finding, forMs = SHRINK_MS): Promise<Trace> {
  const untilMs = performance.now() + forMs;
  let last = finding;
  async function fails(commands: readonly Command[]): Promise<boolean> {
    const found = await new Day({ ...parts, seed }).run(commands);
    if (found?.kind !== finding.kind) return false;
    last = found;
    return true;
  }
  const all = makeCommands(seed, parts.commands ?? COMMANDS);
  const upTo = all.slice(0, finding.command + 1);
  const commands = await shrink(upTo, fails, () => performance.now() < untilMs);
  return { seed, finding: last, commands };
}

/** A trace as one reads it. */
export function traceText({ seed, finding, commands }: Trace): string {
  const lines = commands.map((command) => `  ${JSON.stringify(command)}`);
  return [`seed ${seed}: ${finding.text} (${finding.kind})`, ...lines].join('\n');
}
