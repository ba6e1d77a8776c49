import type { FromSchema } from './from-schema.ts';
import type { schemas } from './schemas.ts';

/** An error of a compiled schema; `instancePath` is a JSON Pointer. */
export type SchemaError = {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The name that does not fit, where that is what is wrong. */
  readonly propertyName?: string;
};

/** True when `data` fits its schema; otherwise `errors` holds why until the next call. */
export type Validator<Value> = {
  (data: unknown): data is Value;
  errors?: readonly SchemaError[] | null;
};

/**
 * A validator for each schema of `schemas.ts`, under its name; `scripts/build-validators.mjs` compiles them.
 */
export declare const validators: {
  readonly [Name in keyof typeof schemas]: Validator<FromSchema<(typeof schemas)[Name]>>;
};
