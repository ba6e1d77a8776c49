import { STATE_CODES } from '../domain/address.ts';
import type { FieldError } from '../domain/errors.ts';
import { ONE_LINE, PLAUSIBLE_EMAIL, quotedName, SOME_LINES } from '../domain/text.ts';
import {
  ACTION_ID,
  CURSOR,
  E164_PHONE,
  EVENT_CURSOR,
  EVENT_WAIT,
  MAX_METADATA_KEY_LENGTH,
  METADATA_KEY,
  PAGE_SIZE,
  PUSH_KEY,
  PUSH_SECRET,
  STORABLE_TEXT,
  TIMESTAMP,
  ZIP,
} from './schemas.ts';
import type { SchemaError } from './validators.js';

/** Most invalid fields named in one reply. The contract's order has fewer. */
export const MAX_FIELD_ERRORS = 32;
/** Longest time in seconds for which a reader may wait for events. */
export const MAX_EVENT_WAIT_SECONDS = 20;

/** Of a field or a parameter: a misspelt one would otherwise count as absent. */
export const NOT_KNOWN = 'is not known here';

/** One sentence for each field that a validator found wrong, in the order of the schema. */
export function describeErrors(errors: readonly SchemaError[]): FieldError[] {
  const found = new Map<string, FieldError>();
  for (const error of errors) {
    const field = fieldOf(error);
    if (!found.has(field)) found.set(field, { field, message: describe(error) });
    if (found.size === MAX_FIELD_ERRORS) break;
  }
  return [...found.values()];
}

/** `/customer` with a missing `phone` is `customer.phone`, and `/items/3/quantity` is `items[3].quantity`. */
function fieldOf({ instancePath, params, propertyName }: SchemaError): string {
  const path = instancePath.split('/').slice(1).map(fromPointer);
  const last = params.missingProperty ?? params.additionalProperty ?? propertyName ?? params.propertyName;
  return pathOf(last === undefined ? path : [...path, String(last)]);
}

/** A name as it stood before it became a part of a JSON Pointer (RFC 6901). */
function fromPointer(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A dotted path, in which a number stands in brackets. */
export function pathOf(names: readonly string[]): string {
  return names
    .map((name, at) => (/^\d+$/.test(name) ? `[${name}]` : `${at > 0 ? '.' : ''}${quotedName(name)}`))
    .join('');
}

const PATTERN_MESSAGES: Readonly<Record<string, string>> = {
  [STORABLE_TEXT]: 'must not contain U+0000 or half of a surrogate pair',
  [ONE_LINE]: 'must be one line that shows something, without control characters and overrides of direction',
  [SOME_LINES]: 'must have no control characters but ends of lines, and no overrides of direction',
  [METADATA_KEY]: `must have a name of 1 to ${MAX_METADATA_KEY_LENGTH} letters, digits and _ . -`,
  [E164_PHONE]: 'must be in E.164 form, like +14155550123',
  [ZIP]: 'must be a ZIP code, like 94103 or 94103-1234',
  [PLAUSIBLE_EMAIL]: 'must be an e-mail address, like jo@example.com',
  [ACTION_ID]: 'must be made of letters, digits and . : _ -',
  [PUSH_KEY]: 'must be the 65 bytes of a key in base64url',
  [PUSH_SECRET]: 'must be 16 bytes in base64url',
  [PAGE_SIZE]: 'must be a whole number from 1 to 100',
  [EVENT_CURSOR]: 'must be the cursor of an event, or the next_cursor of an earlier page',
  [EVENT_WAIT]: `must be a whole number of seconds from 0 to ${MAX_EVENT_WAIT_SECONDS}`,
  [CURSOR]: 'must be a next_cursor of an earlier page',
  [TIMESTAMP]: 'must be a time in ISO 8601 form with its zone, like 2025-01-31T17:05:00Z or 2025-01-31T12:05:00-05:00',
};

/** The end of a sentence, from "must" or "is" on; it never quotes what was sent. */
function describe({ keyword, params }: SchemaError): string {
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return NOT_KNOWN;
    case 'type':
      return TYPE_MESSAGES[String(params.type)] ?? `must be of type ${String(params.type)}`;
    case 'minLength':
    case 'minItems':
      return 'must not be empty';
    case 'maxLength':
      return `must be at most ${String(params.limit)} characters long`;
    case 'maxItems':
      return `must have at most ${String(params.limit)} entries`;
    case 'uniqueItems':
      return 'must not have an entry twice';
    case 'minimum':
      return `must be at least ${String(params.limit)}`;
    case 'maximum':
      return `must be at most ${String(params.limit)}`;
    case 'maxProperties':
      return `must have at most ${String(params.limit)} keys`;
    case 'enum':
      return describeChoice(params.allowedValues);
    case 'pattern':
      return PATTERN_MESSAGES[String(params.pattern)] ?? 'has the wrong form';
    default:
      return 'is not valid';
  }
}

const TYPE_MESSAGES: Readonly<Record<string, string>> = {
  string: 'must be a string',
  number: 'must be a number',
  integer: 'must be a whole number',
  array: 'must be a list',
  boolean: 'must be true or false',
  object: 'must be an object',
};

function describeChoice(allowed: unknown): string {
  if (!Array.isArray(allowed)) return 'is not valid';
  if (allowed.length === STATE_CODES.length)
    return 'must be a two-letter US state, territory or military code, like CA';
  return `must be one of ${allowed.join(', ')}`;
}
