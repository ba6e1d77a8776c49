import type { JsonSchema } from '../../transport/operation.ts';
import { orderExtras, schemas } from '../schemas.ts';
import { orNull } from './schema.ts';

const { properties, required } = schemas.placeOrder;
const { sandbox: _sandbox, ...fields } = properties;
const { dropoff_address: address } = properties;

/** What is optional may be null as well; the schema that checks an order sees it without what is null. */
const extras = Object.fromEntries(Object.entries(orderExtras).map(([name, schema]) => [name, orNull(schema)]));
const live = {
  ...fields,
  ...extras,
  dropoff_address: {
    ...address,
    properties: {
      ...address.properties,
      line2: orNull(address.properties.line2),
      // In any case; the schema that checks it sees upper case.
      state: { type: 'string', pattern: '^[A-Za-z]{2}$' },
    },
  },
};

/** The body of an order as the document shows it; outside the sandbox `sandbox` is no field of it. */
export function orderBody(isSandbox: boolean): JsonSchema & {
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, JsonSchema>>;
} {
  return { type: 'object', required, properties: isSandbox ? { ...live, sandbox: properties.sandbox } : live };
}
