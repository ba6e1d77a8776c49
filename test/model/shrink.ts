import type { Command } from './commands.ts';

/**
 * The shortest list of commands that was found with the same finding: whole stretches are left out, then single
 * commands, then waits (A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
 *
 * @param fails whether the same is found by these commands
 * @param mayGoOn asked before each attempt
 */
export async function shrink(
  commands: readonly Command[],
  fails: (commands: readonly Command[]) => Promise<boolean>,
  mayGoOn: () => boolean,
): Promise<readonly Command[]> {
  let best = commands;
  for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = best.length - size; at > -size; at -= size) {
      if (!mayGoOn()) return best;
      const from = Math.max(0, at);
      // The time that it took passes in any case, as much depends on it.
      const left = best.slice(from, at + size).reduce((sum, { waitMs }) => sum + waitMs, 0);
      const without = [...best.slice(0, from), ...best.slice(at + size)];
      const before = without[from - 1];
      const waiting = before ? without.with(from - 1, { ...before, waitMs: before.waitMs + left }) : without;
      if (await fails(without)) best = without;
      else if (left > 0 && before && (await fails(waiting))) best = waiting;
    }
  }
  for (const [i, command] of best.entries()) {
    if (command.waitMs === 0) continue;
    for (const waitMs of [0, command.waitMs / 4, command.waitMs / 2]) {
      if (!mayGoOn()) return best;
      const shorter = best.with(i, { ...command, waitMs: Math.round(waitMs) });
      if (!(await fails(shorter))) continue;
      best = shorter;
      break;
    }
  }
  return best;
}
