import { isUtf8 } from 'node:buffer';
import { ServiceError } from '../domain/errors.ts';

/** Deepest nesting of a JSON body. An order has three levels. */
export const MAX_JSON_DEPTH = 32;

export type JsonObject = { readonly [name: string]: unknown };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Reads a body as one JSON object: strict UTF-8 (RFC 8259), at most `MAX_JSON_DEPTH` deep. Of two members
 * with one name the last counts, as in JavaScript; a byte order mark in front is ignored. Anything else comes
 * back as the error to reply with.
 */
export function parseJsonObject(bytes: Buffer): { readonly ok: JsonObject } | { readonly error: ServiceError } {
  if (bytes.length === 0) return refuse('The body is empty; send a JSON object.');
  if (!isUtf8(bytes)) return refuse('The body is not valid UTF-8.');
  if (isNestedDeeper(bytes, MAX_JSON_DEPTH)) return refuse(`The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
  let value: unknown;
  try {
    const start = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
    value = JSON.parse(bytes.toString('utf8', start));
  } catch {
    return refuse('The body is not valid JSON.');
  }
  return isJsonObject(value) ? { ok: value } : refuse('The body must be a JSON object.');
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refuse(message: string): { readonly error: ServiceError } {
  return { error: new ServiceError('malformed_json', message) };
}

/**
 * Whether brackets outside of strings nest deeper than `limit`: `JSON.parse` takes millions of levels, and
 * whatever walks its result does not. Every quote is one byte, as UTF-8 encodes ASCII.
 */
function isNestedDeeper(bytes: Buffer, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (inString) {
      if (byte === BACKSLASH) index++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > limit) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return false;
}
