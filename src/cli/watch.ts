import type { Command } from 'commander';
import { atMost } from '../limits.ts';
import { integer } from './parts.ts';

/** Seconds between two looks of a command that watches, unless it says otherwise. At most MAX_WATCH_SECONDS. */
const DEFAULT_WATCH_SECONDS = 2;
/** Most seconds between two looks of a command that watches: an hour. */
const MAX_WATCH_SECONDS = 3_600;

atMost({ DEFAULT_WATCH_SECONDS }, { MAX_WATCH_SECONDS });

/** For a command that only shows something. */
export const withWatch = <C extends Command>(command: C): C =>
  command.option(
    '--watch [seconds]',
    `show it anew after so many seconds, ${DEFAULT_WATCH_SECONDS} if absent, until Ctrl-C`,
  );

/** Milliseconds between two looks; null for one look alone. */
export function readWatch(watch: string | true | undefined): number | null {
  if (watch === undefined) return null;
  return 1_000 * (watch === true ? DEFAULT_WATCH_SECONDS : integer('--watch', watch, 1, MAX_WATCH_SECONDS));
}
