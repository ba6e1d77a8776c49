import { isId } from '../domain/ids.ts';
import { MAX_NAME_LENGTH } from '../limits.ts';
import { CommandError, type Context } from './context.ts';

/** Wraps what a command does into commander's action: connect, act, print. */
export type Act = <Options>(
  work: (context: Context, args: readonly string[], options: Options) => Promise<unknown>,
) => (...args: unknown[]) => Promise<void>;

export function requireId(text: string | undefined): string {
  if (text === undefined || !isId(text)) throw new CommandError(`That is not an id: ${text ?? '(nothing)'}`);
  return text;
}

export function known<T>(value: T | null, what: string): T {
  if (value === null) throw new CommandError(`There is no such ${what}.`);
  return value;
}

/** A text a person typed: trimmed, neither empty nor longer than a name may be. */
export function text(option: string, value: string): string {
  const trimmed = value.trim();
  if (trimmed === '' || [...trimmed].length > MAX_NAME_LENGTH * 2) {
    throw new CommandError(`${option} takes 1 to ${MAX_NAME_LENGTH * 2} characters.`);
  }
  return trimmed;
}

/** A whole number within bounds. */
export function integer(option: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new CommandError(`${option} takes a whole number from ${min} to ${max}.`);
  }
  return number;
}
