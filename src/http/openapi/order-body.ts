import type { JsonSchema } from '../../transport/operation.ts';
import { schemas } from '../schemas.ts';

const { properties, required } = schemas.placeOrder;
const { sandbox: _sandbox, ...live } = properties;

/** The body of an order as the document shows it; outside the sandbox `sandbox` is no field of it. */
export function orderBody(isSandbox: boolean): JsonSchema & {
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, JsonSchema>>;
} {
  return { type: 'object', required, properties: isSandbox ? properties : live };
}
