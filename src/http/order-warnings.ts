import type { FieldError } from '../domain/errors.ts';
import { quotedName } from '../domain/text.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { schemas } from './schemas.ts';

/** Most unknown fields of an order that its reply names. */
const MAX_WARNINGS = 20;

/** What the walk reads of a JSON Schema. */
type Shape = {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
};

/** An order outside the sandbox. */
const LIVE_ORDER: Shape = {
  properties: Object.fromEntries(Object.entries(schemas.placeOrder.properties).filter(([name]) => name !== 'sandbox')),
};

/**
 * The fields of an order's body that were ignored, at any level, as its schema does not name them: at most
 * MAX_WARNINGS, in the order of the body. A store that misspelt a field learns of it here.
 *
 * @param isSandbox whether `sandbox` is a field of an order
 */
export function warningsOf(body: JsonObject, isSandbox = false): readonly FieldError[] {
  const found: string[] = [];
  collect(body, isSandbox ? schemas.placeOrder : LIVE_ORDER, '', found);
  return found.map((field) => ({ field, message: 'is not a field of an order; it was ignored' }));
}

function collect(value: unknown, { properties, items }: Shape, path: string, found: string[]): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) if (items) collect(item, items, `${path}[${index}]`, found);
  } else if (isJsonObject(value) && properties) {
    const before = path === '' ? '' : `${path}.`;
    for (const name of Object.keys(value)) {
      if (found.length === MAX_WARNINGS) return;
      if (!Object.hasOwn(properties, name)) found.push(before + quotedName(name));
      else if (typeof value[name] === 'object') collect(value[name], properties[name] as Shape, before + name, found);
    }
  }
}
