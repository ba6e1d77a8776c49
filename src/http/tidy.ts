import type { JsonObject } from './json.ts';

/** A text without the spaces around it; any other value as it is. */
export function trimmed(value: unknown): unknown {
  return typeof value === 'string' ? value.trim() : value;
}

/** The value, or undefined where an optional field says nothing: null, or an empty text. */
export function unlessEmpty(value: unknown): unknown {
  return value === null || value === '' ? undefined : value;
}

/** The members that are there. */
export function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
