import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/http/json.ts';
import { accepted, ORDER, problems as problemsOf } from './order-input.ts';

const EXTRAS = {
  external_id: 'A-1001',
  metadata: { cart: '77', 'aisle.3-b_c': 'left\nside' },
  items: [
    { name: 'Floor lamp', quantity: 1 },
    { name: 'Bulb', quantity: 999 },
  ],
  pickup_instructions: 'Back door.\nAsk for Jo.',
  dropoff_instructions: 'Code 1234',
  leave_at_door: true,
};

const extrasOf = (fields: JsonObject) => accepted({ ...ORDER, ...fields }).extras;
const problems = (fields: JsonObject) => problemsOf({ ...ORDER, ...fields });

const INSTRUCTIONS = ['pickup_instructions', 'dropoff_instructions'] as const;
const NOT_LINES = 'must have no control characters but ends of lines, and no overrides of direction';
const ONE_LINE = 'must be one line that shows something, without control characters and overrides of direction';

describe('the optional fields of an order', () => {
  it('become the domain’s form', () => {
    expect(extrasOf(EXTRAS)).toEqual({
      externalId: 'A-1001',
      metadata: { cart: '77', 'aisle.3-b_c': 'left\nside' },
      items: EXTRAS.items,
      pickupInstructions: 'Back door.\nAsk for Jo.',
      dropoffInstructions: 'Code 1234',
      leaveAtDoor: true,
      readyAt: null,
      deliverAfter: null,
      deliverBy: null,
      size: 'small',
      scenario: null,
    });
  });

  it('are null together where none says anything', () => {
    expect(extrasOf({})).toBeNull();
    expect(extrasOf(Object.fromEntries(Object.keys(EXTRAS).map((name) => [name, null])))).toBeNull();
    expect(extrasOf({ external_id: ' ', metadata: {}, items: [], leave_at_door: false })).toBeNull();
    for (const empty of ['', [], {}]) expect(extrasOf({ metadata: empty, items: empty })).toBeNull();
    expect(extrasOf({ pickup_instructions: '', dropoff_instructions: ' \r\n ' })).toBeNull();
  });

  it.each(Object.entries(EXTRAS))('may hold %s alone, and the others have their defaults', (name, value) => {
    const { size, ...fields } = extrasOf({ [name]: value }) ?? { size: null };
    expect(size).toBe('small');
    const set = Object.values(fields).filter(
      (field) => field !== null && field !== false && Object.keys(Object(field)).length + Number(field === true) > 0,
    );
    expect(set).toEqual([value]);
  });

  it('are trimmed at their ends, and ends of lines are U+000A', () => {
    const spaced = {
      external_id: ' A-1001\t',
      metadata: { cart: ' 77 ' },
      items: [{ name: ' Lamp\n', quantity: 1 }],
      pickup_instructions: ' one\r\ntwo\rthree \n',
    };
    expect(extrasOf(spaced)).toMatchObject({
      externalId: 'A-1001',
      metadata: { cart: '77' },
      items: [{ name: 'Lamp', quantity: 1 }],
      pickupInstructions: 'one\ntwo\nthree',
    });
  });

  it.each([
    ['external_id', 'must be a string', [1, [], {}, true]],
    ['pickup_instructions', 'must be a string', [1, [], {}, true]],
    ['dropoff_instructions', 'must be a string', [1, [], {}, true]],
    ['metadata', 'must be an object', [1, [1], 'x', true]],
    ['items', 'must be a list', [1, { a: 1 }, 'x', true]],
    ['leave_at_door', 'must be true or false', [1, [], {}, 'true', '']],
  ])('are refused where %s is of another type, without coercion', (field, message, values) => {
    for (const value of values) expect(problems({ [field]: value })).toEqual([`${field}: ${message}`]);
  });

  it.each([
    ['external_id', 255],
    ['pickup_instructions', 500],
    ['dropoff_instructions', 500],
  ])('take %s up to %i characters', (field, limit) => {
    expect(problems({ [field]: '👩'.repeat(limit) })).toEqual([]);
    expect(problems({ [field]: 'é'.repeat(limit + 1) })).toEqual([
      `${field}: must be at most ${limit} characters long`,
    ]);
  });

  it('take text of any script, and none that leaves its line or turns what follows', () => {
    for (const text of ['محمد‎ 3', '👨‍👩‍👧', 'x\ty']) {
      for (const field of ['external_id', ...INSTRUCTIONS]) expect(problems({ [field]: text })).toEqual([]);
    }
    for (const character of ['\u001b', '\u0007', '\u007f', '\u0085', '\u2028', '\u202e', '\u2066']) {
      expect(problems({ external_id: `a${character}b` })).toEqual([`external_id: ${ONE_LINE}`]);
      expect(problems({ items: [{ name: `a${character}b`, quantity: 1 }] })).toEqual([`items[0].name: ${ONE_LINE}`]);
      expect(problems({ metadata: { a: `a${character}b` } })).toEqual([`metadata.a: ${NOT_LINES}`]);
      for (const field of INSTRUCTIONS) {
        expect(problems({ [field]: `a${character}b` })).toEqual([`${field}: ${NOT_LINES}`]);
      }
    }
    expect(problems({ external_id: 'a\nb' })).toEqual([`external_id: ${ONE_LINE}`]);
  });
});

describe('metadata', () => {
  it('has up to 20 keys of up to 40 characters, and values of up to 500', () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, '']));
    expect(problems({ metadata: keys(20) })).toEqual([]);
    expect(problems({ metadata: keys(21) })).toEqual(['metadata: must have at most 20 keys']);
    expect(problems({ metadata: { ['k'.repeat(40)]: '👩'.repeat(500) } })).toEqual([]);
    expect(problems({ metadata: { a: 'v'.repeat(501) } })).toEqual(['metadata.a: must be at most 500 characters long']);
  });

  it('names the value that is no string', () => {
    for (const value of [1, null, {}, [], true]) {
      expect(problems({ metadata: { good: 'x', foo: value } })).toEqual(['metadata.foo: must be a string']);
    }
  });

  it.each(['', 'a b', 'k'.repeat(41), 'ключ', 'a/b~c', 'a\n'])('refuses the key %j and names it', (key) => {
    const shown = key.length > 40 ? key : key.replace('\n', '\\u000a');
    expect(problems({ metadata: { [key]: 'x' } })).toEqual([
      `metadata.${shown}: must have a name of 1 to 40 letters, digits and _ . -`,
    ]);
  });

  it('takes keys that are names of JavaScript’s own', () => {
    const metadata = JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}');
    const kept = extrasOf({ metadata })?.metadata ?? {};
    expect(Object.entries(kept)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['toString', 'c'],
    ]);
  });

  it('shows a hostile key as text, and cut', () => {
    const [problem = ''] = problems({ metadata: { [`\u202e${'x'.repeat(50_000)}`]: 'v' } });
    expect(problem).toMatch(/^metadata\.\\u202ex{59}…: must have a name/);
  });
});

describe('items', () => {
  it('are up to 50', () => {
    const items = (count: number) => Array.from({ length: count }, () => ({ name: 'x'.repeat(200), quantity: 1 }));
    expect(problems({ items: items(50) })).toEqual([]);
    expect(problems({ items: items(51) })).toEqual(['items: must have at most 50 entries']);
  });

  it('are refused by the place and name of what is wrong', () => {
    const good = { name: 'Lamp', quantity: 1 };
    const items = [good, 5, {}, { name: '', quantity: 0 }, { name: 'x'.repeat(201), quantity: 1.5 }, null];
    expect(problems({ items })).toEqual([
      'items[1]: must be an object',
      'items[2].name: is required',
      'items[2].quantity: is required',
      'items[3].name: must not be empty',
      'items[3].quantity: must be at least 1',
      'items[4].name: must be at most 200 characters long',
      'items[4].quantity: must be a whole number',
      'items[5]: must be an object',
    ]);
    expect(problems({ items: [{ ...good, quantity: 1_000 }] })).toEqual(['items[0].quantity: must be at most 999']);
    expect(problems({ items: [{ ...good, quantity: '1' }] })).toEqual(['items[0].quantity: must be a whole number']);
  });

  it('lose what nobody knows of them', () => {
    expect(extrasOf({ items: [{ name: 'Lamp', quantity: 1, sku: 5 }] })?.items).toEqual([
      { name: 'Lamp', quantity: 1 },
    ]);
  });

  it('that are far too many cost no more than some', () => {
    const before = process.cpuUsage();
    for (let run = 0; run < 20; run++) expect(problems({ items: Array(30_000).fill(1) })).toHaveLength(32);
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });
});
