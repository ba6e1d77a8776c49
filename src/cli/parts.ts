import { isId } from '../domain/ids.ts';
import { staysOnOneLine } from '../domain/text.ts';
import type { TierId } from '../domain/tier.ts';
import { MAX_NAME_LENGTH } from '../limits.ts';
import { CommandError, type Context } from './context.ts';

/** Makes commander's action of a command's work: connect, run, print. */
export type Act = <Options>(
  work: (context: Context, args: readonly string[], options: Options) => Promise<unknown>,
) => (...args: unknown[]) => Promise<void>;

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
    throw new CommandError(`${option} takes one line, without control characters and overrides of direction.`);
  }
  return trimmed;
}

/** Reads an option's whole number from `min` to `max`. */
export function integer(option: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new CommandError(`${option} takes a whole number from ${min} to ${max}.`);
  }
  return number;
}

/** The ids of the tier table, those of the contract first. */
export async function knownTierIds({ store }: Context): Promise<TierId[]> {
  return [...(await store.loadTiers()).keys()];
}
