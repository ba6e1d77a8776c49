import type { PlaceOnceOutcome } from '../dispatch/place-once.ts';
import { type FieldError, ServiceError } from '../domain/errors.ts';
import { isIdempotencyKey } from '../domain/idempotency.ts';
import type { PlaceOrder } from '../domain/order.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../limits.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { warningsOf } from './order-warnings.ts';
import { readRetailerId, validatePlaceOrder } from './place-order-input.ts';
import { valid, validate } from './validate.ts';
import { validators } from './validators.js';

export type GoodOrder = {
  readonly kind: 'good';
  readonly order: PlaceOrder;
  readonly key: string;
  readonly warnings: readonly FieldError[];
  /** What it gets where its key is known to have created an order before; then none is placed. */
  readonly replay?: PlaceOnceOutcome;
};
/** One order of a batch: what is to be placed, or the error that it gets. */
export type BatchedOrder = GoodOrder | { readonly kind: 'bad'; readonly error: ServiceError };

/**
 * The entries of a batch as sent.
 *
 * @throws {ServiceError} `invalid_request` where `orders` is no list of a length that is allowed;
 *   `unauthorized` where any order names another store
 */
export function entriesOf(body: JsonObject, retailerId: string): readonly unknown[] {
  valid(validate(validators.placeBatch, body));
  const entries = Array.isArray(body.orders) ? (body.orders as readonly unknown[]) : [];
  for (const entry of entries) {
    const named = isJsonObject(entry) ? readRetailerId(entry) : undefined;
    if (named !== undefined && named !== retailerId) {
      throw new ServiceError('unauthorized', 'The API key does not belong to the retailer_id of each order.');
    }
  }
  return entries;
}

/**
 * Validates each order by itself. Fields are named by their path in the whole body, `orders[3].customer.phone`.
 *
 * @param isSandbox whether `sandbox` is a field of an order
 */
export function readEntries(entries: readonly unknown[], isSandbox = false): BatchedOrder[] {
  const keys = new Set<string>();
  return entries.map((entry, index): BatchedOrder => {
    if (!isJsonObject(entry)) return bad([{ field: pathTo(index), message: 'must be an object' }]);
    const { idempotency_key: sent, ...body } = entry;
    const key = typeof sent === 'string' ? sent.trim() : sent;
    const wrongKey = whatIsWrong(key, keys);
    if (typeof key === 'string') keys.add(key);
    const checked = validatePlaceOrder(body, isSandbox);
    const fields = [
      ...(wrongKey === null ? [] : [{ field: 'idempotency_key', message: wrongKey }]),
      ...('fields' in checked ? checked.fields : []),
    ];
    if ('fields' in checked || fields.length > 0) return bad(within(index, fields));
    return {
      kind: 'good',
      order: checked.ok,
      key: key as string,
      warnings: within(index, warningsOf(body, isSandbox)),
    };
  });
}

function whatIsWrong(key: unknown, earlier: ReadonlySet<string>): string | null {
  if (key === undefined) return 'is required';
  if (typeof key !== 'string' || !isIdempotencyKey(key)) {
    return `must be 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} characters of printable ASCII`;
  }
  return earlier.has(key) ? 'must be another one than that of an order before' : null;
}

function bad(fields: readonly FieldError[]): BatchedOrder {
  const message = 'Some fields are not usable; this order was not created.';
  return { kind: 'bad', error: new ServiceError('invalid_request', message, { fields }) };
}

/** Fields of one order by their paths in the body of the batch. */
export function within(index: number, fields: readonly FieldError[]): FieldError[] {
  return fields.map(({ field, message }) => ({ field: `${pathTo(index)}.${field}`, message }));
}

const pathTo = (index: number) => `orders[${index}]`;
