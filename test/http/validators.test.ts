import { describe, expect, expectTypeOf, it } from 'vitest';
import type { FromSchema } from '../../src/http/from-schema.ts';
import { schemas } from '../../src/http/schemas.ts';
import { storable } from '../../src/http/storable.ts';
import { type Validator, validators } from '../../src/http/validators.js';

describe('the compiled validators', () => {
  it('are one for each schema, under its name', () => {
    expect(Object.keys(validators).sort()).toEqual(Object.keys(schemas).sort());
  });

  it('narrow what they take to the type of their schema', () => {
    const body: unknown = { reason: 'other', action_id: 'a' };
    if (!validators.release(body)) throw new Error('refused');
    expectTypeOf(body.reason).toEqualTypeOf<'vehicle' | 'emergency' | 'too_far' | 'pickup_not_ready' | 'other'>();
    expectTypeOf(body.action_id).toEqualTypeOf<string | undefined>();
    expectTypeOf(validators.driverDuty).toExtend<Validator<{ readonly on_duty: boolean }>>();
  });
});

type Schema = { readonly [keyword: string]: unknown };
/** A place for a text in what a schema describes: its path, and a value that has `text` there and nothing else. */
type Place = { readonly path: string; readonly holding: (text: string) => unknown };

function placesOf(schema: Schema): Place[] {
  const under = (path: string, part: unknown, put: (value: unknown) => unknown): Place[] =>
    placesOf(part as Schema).map((place) => ({
      path: `${path}${place.path}`,
      holding: (text) => put(place.holding(text)),
    }));
  const { properties = {}, items, additionalProperties, propertyNames } = schema;
  return [
    ...(schema.type === 'string' ? [{ path: '', holding: (text: string) => text }] : []),
    ...Object.entries(properties as Schema).flatMap(([name, part]) =>
      under(`/${name}`, part, (value) => ({ [name]: value })),
    ),
    ...(items === undefined ? [] : under('/0', items, (value) => [value])),
    ...(additionalProperties ? under('/any', additionalProperties, (value) => ({ any: value })) : []),
    ...(propertyNames ? [{ path: '', holding: (text: string) => ({ [text]: '' }) }] : []),
  ];
}

describe('every text of every schema', () => {
  const places = Object.entries(schemas).flatMap(([name, schema]) =>
    placesOf(schema).map((place) => ({ ...place, name: name as keyof typeof schemas })),
  );

  it.each(places)('is refused with what cannot be stored: $name $path', ({ name, path, holding }) => {
    const validator: Validator<unknown> = validators[name];
    for (const text of ['\0', 'a\0', 'a\0b', '\ud800', 'a\udc00b']) {
      expect(validator(holding(text))).toBe(false);
      const told = (validator.errors ?? []).filter(({ instancePath }) => instancePath === path);
      expect(told.map(({ keyword }) => keyword)).toEqual(
        expect.arrayContaining([expect.stringMatching(/^(?:pattern|enum)$/)]),
      );
    }
  });

  it('is found, and no list is left out but the orders of a batch, which are each looked at alone', () => {
    expect(places.length).toBeGreaterThan(50);
    const isOpen = (schema: unknown) => /"type":"array"(?![^{}]*"items")/.test(JSON.stringify(schema));
    const open = Object.entries(schemas).filter(([, schema]) => isOpen(schema));
    expect(open.map(([name]) => name)).toEqual(['placeBatch']);
  });

  it('cannot hide under a keyword that nobody looks into', () => {
    expect(() => storable({ anyOf: [{ type: 'string' }] })).toThrow('anyOf');
    expect(() => storable({ type: ['string', 'null'] })).toThrow('two types');
    expect(() => storable({ type: 'object', properties: { a: { type: 'object', patternProperties: {} } } })).toThrow(
      'patternProperties',
    );
  });
});

describe('the type of a schema', () => {
  it('requires what the schema requires, all the way down', () => {
    type Placed = FromSchema<typeof schemas.placeOrder>;
    expectTypeOf<Placed['customer']['name']>().toEqualTypeOf<string>();
    expectTypeOf<Placed['customer']['sms_opt_in']>().toEqualTypeOf<boolean | undefined>();
    expectTypeOf<Placed['delivery_tier']>().toEqualTypeOf<'standard' | 'priority' | 'scheduled' | undefined>();
    expectTypeOf<FromSchema<typeof schemas.driverLocation>['lat']>().toEqualTypeOf<number>();
  });

  it('is unknown for a keyword that it does not know', () => {
    expectTypeOf<FromSchema<{ readonly type: 'array' }>>().toBeUnknown();
  });
});
