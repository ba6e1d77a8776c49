/** Types of `validators.js`, which `scripts/build-validators.mjs` writes from `schemas.ts`. */

/** An error of a compiled schema; `instancePath` is a JSON Pointer. */
export type SchemaError = {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
};

/** True when `data` fits; otherwise `errors` holds why until the next call. */
export type Validator = {
  (data: unknown): boolean;
  errors?: readonly SchemaError[] | null;
};

export declare const placeOrder: Validator;
export declare const driverDuty: Validator;
export declare const driverLocation: Validator;
export declare const driverAction: Validator;
export declare const release: Validator;
export declare const undeliverable: Validator;
export declare const cancelOrder: Validator;
export declare const listOrders: Validator;
