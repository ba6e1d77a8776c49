import { describe, expect, expectTypeOf, it } from 'vitest';
import type { FromSchema } from '../../src/http/from-schema.ts';
import { schemas } from '../../src/http/schemas.ts';
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
