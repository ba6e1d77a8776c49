/**
 * The type of a value that fits a JSON Schema declared `as const`. It knows the keywords that `schemas.ts`
 * uses; any other schema gives `unknown`, which no code can use by mistake.
 */
export type FromSchema<Schema> = Schema extends { readonly enum: readonly (infer Choice)[] }
  ? Choice
  : Schema extends { readonly type: 'string' }
    ? string
    : Schema extends { readonly type: 'number' | 'integer' }
      ? number
      : Schema extends { readonly type: 'boolean' }
        ? boolean
        : Schema extends { readonly type: 'object'; readonly properties: infer Properties }
          ? ObjectOf<Properties, RequiredNames<Schema>>
          : Schema extends { readonly type: 'object'; readonly additionalProperties: infer Value }
            ? Readonly<Record<string, FromSchema<Value>>>
            : Schema extends { readonly type: 'array'; readonly items: infer Item }
              ? readonly FromSchema<Item>[]
              : unknown;

type ObjectOf<Properties, Required> = {
  readonly [Name in keyof Properties as Name extends Required ? Name : never]: FromSchema<Properties[Name]>;
} & {
  readonly [Name in keyof Properties as Name extends Required ? never : Name]?: FromSchema<Properties[Name]>;
};

type RequiredNames<Schema> = Schema extends { readonly required: readonly (infer Name)[] } ? Name : never;
