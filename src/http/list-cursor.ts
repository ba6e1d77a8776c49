import type { FieldError } from '../domain/errors.ts';
import { isId } from '../domain/ids.ts';
import type { Cursor } from '../store/pages.ts';

export function encodeCursor({ micros, id }: Cursor): string {
  return Buffer.from(`${micros}:${id}`).toString('base64url');
}

/** The cursor of a query; null without one. One that is none is added to the wrong fields, once. */
export function readCursor(text: string | undefined, wrong: FieldError[]): Cursor | null {
  if (text === undefined) return null;
  const [, micros, id] = /^(\d{1,16}):(.+)$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (micros && id && isId(id)) return { micros, id };
  if (wrong.every(({ field }) => field !== 'cursor')) {
    wrong.push({ field: 'cursor', message: 'must be a next_cursor of an earlier page' });
  }
  return null;
}
