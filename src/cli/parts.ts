import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readCaller } from '../config.ts';
import { isId } from '../domain/ids.ts';
import { staysOnOneLine } from '../domain/text.ts';
import type { TierId } from '../domain/tier.ts';
import { calendarTime } from '../http/input.ts';
import { MAX_NAME_LENGTH } from '../limits.ts';
import { CommandError, type Context } from './context.ts';

/** What a command does; what it resolves with is printed. */
export type Work<Options> = (context: Context, args: readonly string[], options: Options) => Promise<unknown>;

/** Makes commander's action of a command's work: connect, run, print. */
export type Act = <Options>(work: Work<Options>) => (...args: unknown[]) => Promise<void>;

/** @throws {CommandError} if the text is not an id */
export function requireId(text: string | undefined): string {
  if (text === undefined || !isId(text)) throw new CommandError(`That is not an id: ${text ?? '(nothing)'}`);
  return text;
}

/** @throws {CommandError} if the value is null */
export function known<T>(value: T | null, what: string): T {
  if (value === null) throw new CommandError(`There is no such ${what}.`);
  return value;
}

/** Trims an option's value, one line of 1 to twice MAX_NAME_LENGTH characters. */
export function text(option: string, value: string): string {
  const trimmed = value.trim();
  if (trimmed === '' || [...trimmed].length > MAX_NAME_LENGTH * 2) {
    throw new CommandError(`${option} takes 1 to ${MAX_NAME_LENGTH * 2} characters.`);
  }
  if (!staysOnOneLine(trimmed)) {
    throw new CommandError(
      `${option} takes one line that shows something, without control characters and overrides of direction.`,
    );
  }
  return trimmed;
}

/** A path as it was typed, which may have been in another folder than that in which the program runs. */
export const typedPath = (path: string): string => resolve(readCaller().folder, path);

/** Reads an option's whole number from `min` to `max`. */
export function integer(option: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new CommandError(`${option} takes a whole number from ${min} to ${max}.`);
  }
  return number;
}

/** Reads one of some values. */
export function oneOf<Value extends string>(option: string, given: string, values: readonly Value[]): Value {
  const value = values.find((each) => each === given);
  if (value === undefined) throw new CommandError(`${option} is one of ${values.join(', ')}.`);
  return value;
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a time like 30m, 24h or 7d; null where the text is none. */
export function durationMs(text: string): number | null {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * (UNIT_MS[unit] ?? 0);
}

/** For a command that cannot be undone, or costs: without `--yes` it says what it would do. */
export const withYes = <C extends Command>(command: C): C =>
  command.option('--yes', 'do what cannot be undone or costs; without it the command says what that is');

/** @throws {CommandError} saying what would be done, where `--yes` is not given */
export function confirm({ yes }: Confirmed, what: string): void {
  if (!yes) throw new CommandError(`${what} Add --yes to do it.`);
}

export type Confirmed = { readonly yes?: boolean | undefined };

const CLOCK = String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?`;
const ZONED = new RegExp(`${CLOCK}(?:Z|[+-]\\d\\d:\\d\\d)$`, 'u');
const UNZONED = new RegExp(`${CLOCK}$`, 'u');

/**
 * Reads a time that says its zone; null where the text is no time. Whoever types a time may be in another zone
 * than this machine and than the driver, so none is taken for granted.
 *
 * @throws {CommandError} for a time without a zone, with this exit code
 */
export function zonedTime(what: string, value: string, exitCode = 1): Date | null {
  if (UNZONED.test(value)) {
    throw new CommandError(
      `${what} needs its zone: Z for UTC, or an offset, like 2026-11-23T22:00:00Z or 2026-11-23T14:00:00-08:00.`,
      exitCode,
    );
  }
  return ZONED.test(value) ? calendarTime(value) : null;
}

/** The ids of the tier table, those of the contract first. */
export async function knownTierIds({ store }: Context): Promise<TierId[]> {
  return [...(await store.loadTiers()).keys()];
}
