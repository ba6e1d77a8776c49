import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STATE_CODES } from '../../src/domain/address.ts';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../src/http/json.ts';
import { readRetailerId, validatePlaceOrder } from '../../src/http/place-order-input.ts';
import { runs } from '../harness/counts.ts';
import { accepted, ORDER, problems } from './order-input.ts';

type Plain = Record<string, unknown>;

/** The order with the field at a dotted path set, or taken away where `value` is undefined. */
function withField(path: string, value: unknown): JsonObject {
  const order = structuredClone(ORDER) as Plain;
  const names = path.split('.');
  const last = names.pop() as string;
  const parent = names.reduce<Plain>((object, name) => object[name] as Plain, order);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return order;
}

const TEXT_FIELDS = [
  ['customer.name', 200],
  ['pickup_address', 500],
  ['dropoff_address.line1', 200],
  ['dropoff_address.line2', 200],
  ['dropoff_address.city', 100],
] as const;
const REQUIRED = [
  'retailer_id',
  'customer',
  'customer.name',
  'customer.email',
  'customer.phone',
  'pickup_address',
  'dropoff_address',
  'dropoff_address.line1',
  'dropoff_address.city',
  'dropoff_address.state',
  'dropoff_address.zip',
];
const STRINGS = [
  ...REQUIRED.filter((path) => path !== 'customer' && path !== 'dropoff_address'),
  'dropoff_address.line2',
  'delivery_tier',
];

describe('an order to place', () => {
  it('becomes the domain’s form', () => {
    expect(accepted(ORDER)).toEqual({
      retailerId: ORDER.retailer_id,
      customer: { name: 'Ada Lovelace', email: 'ada@example.com', phone: '+14155550123', smsOptIn: true },
      pickupAddress: '1 Market St, San Francisco, CA 94105',
      dropoffAddress: { line1: '2 Mission St', line2: 'Apt 3', city: 'San Francisco', state: 'CA', zip: '94105' },
      tierId: 'priority',
      extras: null,
    });
  });

  it('has defaults where the contract has them', () => {
    expect(accepted(withField('delivery_tier', undefined)).tierId).toBe('standard');
    expect(accepted(withField('customer.sms_opt_in', undefined)).customer.smsOptIn).toBe(false);
    for (const absent of [undefined, null, '', '   ']) {
      expect(accepted(withField('dropoff_address.line2', absent)).dropoffAddress.line2).toBeNull();
    }
  });

  it('may have fields that nobody knows, at every level, and they are ignored', () => {
    const body = {
      ...ORDER,
      delivery_fee: 1,
      customer: { ...ORDER.customer, vip: { deep: [] } },
      dropoff_address: { ...ORDER.dropoff_address, lat: 'x' },
      another: '\ud800',
    };
    expect(accepted(body)).toEqual(accepted(ORDER));
  });

  it('is trimmed at the ends of its texts and nowhere else', () => {
    const spaced = {
      ...ORDER,
      customer: {
        ...ORDER.customer,
        name: ' \t Ada  Lovelace \n',
        email: ' ada@example.com ',
        phone: ' +14155550123\u00a0',
      },
      pickup_address: `\u3000${ORDER.pickup_address} `,
      dropoff_address: {
        line1: ' 2 Mission St ',
        line2: ' Apt 3 ',
        city: ' San Francisco ',
        state: ' ca ',
        zip: ' 94105 ',
      },
    };
    const order = accepted(spaced);
    expect(order.customer.name).toBe('Ada  Lovelace');
    expect(order).toEqual({ ...accepted(ORDER), customer: { ...accepted(ORDER).customer, name: 'Ada  Lovelace' } });
  });

  it.each(REQUIRED)('is refused without %s', (path) => {
    expect(problems(withField(path, undefined))).toEqual([`${path}: is required`]);
  });

  it.each(STRINGS)('is refused where %s is no string, without coercion', (path) => {
    for (const value of [1, true, {}, [], ['x']]) {
      expect(problems(withField(path, value))).toEqual([`${path}: must be a string`]);
    }
    const allowsNull = path === 'dropoff_address.line2';
    expect(problems(withField(path, null))).toEqual(allowsNull ? [] : [`${path}: must be a string`]);
  });

  it.each(['customer', 'dropoff_address'])('is refused where %s is no object', (path) => {
    for (const value of [null, 1, 'x', [], true]) {
      expect(problems(withField(path, value))).toEqual([`${path}: must be an object`]);
    }
  });

  it.each([null, 'true', 1, 0, '', {}])('is refused where sms_opt_in is %j', (value) => {
    expect(problems(withField('customer.sms_opt_in', value))).toEqual(['customer.sms_opt_in: must be true or false']);
  });

  it.each(
    STRINGS.filter((path) => !['dropoff_address.line2', 'delivery_tier', 'dropoff_address.state'].includes(path)),
  )('is refused where %s is empty', (path) => {
    expect(problems(withField(path, ''))).toEqual([`${path}: must not be empty`]);
    if (path !== 'retailer_id') expect(problems(withField(path, ' \n '))).toEqual([`${path}: must not be empty`]);
  });

  it.each(TEXT_FIELDS)('takes %s up to %i characters, counted as people count code points', (path, limit) => {
    expect(problems(withField(path, '👩'.repeat(limit)))).toEqual([]);
    expect(problems(withField(path, 'é'.repeat(limit + 1)))).toEqual([
      `${path}: must be at most ${limit} characters long`,
    ]);
  });

  it.each(TEXT_FIELDS)('takes any script in %s, and refuses U+0000 and halves of characters', (path) => {
    for (const text of ['Åsa-Märta Ngũgĩ', '李小龍', 'محمد‎', 'O’Connor', '👨‍👩‍👧', 'e\u0301', 'x\ty', '𝒜']) {
      expect(problems(withField(path, text))).toEqual([]);
    }
    for (const text of ['a\u0000b', '\ud800', 'a\udc00b', '\udc00\ud800', '\ud83d']) {
      expect(problems(withField(path, text))).toEqual([`${path}: must not contain U+0000 or half of a surrogate pair`]);
    }
  });

  it.each(TEXT_FIELDS)('takes in %s only what stays on its line and in its direction', (path) => {
    const refusal = `${path}: must be one line that shows something, without control characters and overrides of direction`;
    const controls = ['\n', '\r\n', '\u001b[2J', '\u001b]52;c;eA==\u0007', '\b', '\u007f', '\u0085', '\u009b2J'];
    const separators = ['\u2028', '\u2029'];
    const directions = ['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069'];
    for (const character of [...controls, ...separators, ...directions]) {
      expect(problems(withField(path, `a${character}b`)), JSON.stringify(character)).toEqual([refusal]);
    }
    for (const text of ['👩🏽‍🚀 Ada 🏳️‍🌈', 'نور\u200f 3', 'שלום\u200e 4', 'क्\u200dष', 'a\u00a0b', 'a\u00adb', 'x\ty']) {
      expect(problems(withField(path, text)), text).toEqual([]);
    }
  });

  it.each(TEXT_FIELDS)('refuses in %s what nobody sees', (path) => {
    const isUnseen = /^[\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]$/u;
    const codes = Array.from({ length: 0xd800 }, (_, code) => code).concat(0xfe0f, 0xfeff, 0xffa0);
    const unseen = codes.map((code) => String.fromCodePoint(code)).filter((character) => isUnseen.test(character));
    expect(unseen.length).toBeGreaterThan(50);
    const taken = unseen.filter((one) => problems(withField(path, `\u200b${one}\u3164`)).length === 0);
    expect(taken.map((one) => one.codePointAt(0)?.toString(16))).toEqual([]);
  });

  it.each(['+1234567', '+14155550123', '+447700900123', '+15555555555', '+123456789012345'])(
    'takes the phone %s',
    (phone) => {
      expect(accepted(withField('customer.phone', phone)).customer.phone).toBe(phone);
    },
  );

  it.each([
    '4155550123',
    '+0155550123',
    '+123456',
    '+1234567890123456',
    '+1 415 555 0123',
    '+1-415-555-0123',
    '++14155550123',
    '+1415555012a',
    '+１４１５５５５０１２３',
    '+14155550123\n1',
    'tel:+14155550123',
  ])('refuses the phone %j', (phone) => {
    expect(problems(withField('customer.phone', phone))).toEqual([
      'customer.phone: must be in E.164 form, like +14155550123',
    ]);
  });

  it.each([
    'ada@example.com',
    'jörg@müller.de',
    'a@b.co',
    'first.last+tag@sub.example.co.uk',
    "o'brien@example.ie",
    '用户@例子.广告',
    'x@xn--mller-kva.de',
    'दिनेश@उदाहरण.भारत',
    'a_b-c@ex-ample.museum',
  ])('takes the e-mail %s', (email) => {
    expect(accepted(withField('customer.email', email)).customer.email).toBe(email);
  });

  it.each([
    'ada',
    '@example.com',
    'ada@',
    'ada@localhost',
    'a@b@example.com',
    'a b@example.com',
    'ada@exa mple.com',
    'ada@.com',
    'ada@example..com',
    'ada@example.com.',
    'ada@-example.com',
    'ada@example-.com',
    'ada@example.c',
    'ada@exam\nple.com',
    'a\u202eda@example.com',
    'a\u2067da@example.com',
    `${'a'.repeat(65)}@example.com`,
    'a,b@example.com',
    '.ada@example.com',
    'ada.@example.com',
    'a..b@example.com',
    'a;b@example.com',
    '<ada@example.com>',
    'ada\u200b@example.com',
    'ada@exam\u200bple.com',
    'ada@exam,ple.com',
    'ada@exam_ple.com',
  ])('refuses the e-mail %j', (email) => {
    expect(problems(withField('customer.email', email))).toEqual([
      'customer.email: must be an e-mail address, like jo@example.com',
    ]);
  });

  it.each(['a\u0000b@example.com', '\ud800@example.com'])('refuses the e-mail %j, which cannot be stored', (email) => {
    expect(problems(withField('customer.email', email))).toEqual([
      'customer.email: must not contain U+0000 or half of a surrogate pair',
    ]);
  });

  it('judges the longest and most awkward e-mail in no time', () => {
    const before = process.cpuUsage();
    for (const domain of [`${'a'.repeat(60_000)}`, `${'a.'.repeat(30_000)}`, `${'a-'.repeat(30_000)}!`]) {
      expect(problems(withField('customer.email', `x@${domain}`))).toHaveLength(1);
    }
    expect(problems(withField('customer.email', `x@${'a'.repeat(260)}.com`))).toEqual([
      'customer.email: must be at most 254 characters long',
    ]);
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });

  it('takes every state in any case and keeps it in upper case', () => {
    expect(STATE_CODES).toHaveLength(new Set(STATE_CODES).size);
    for (const code of STATE_CODES) {
      for (const written of [code, code.toLowerCase(), `${code[0]}${code[1]?.toLowerCase()}`]) {
        expect(accepted(withField('dropoff_address.state', written)).dropoffAddress.state).toBe(code);
      }
    }
  });

  it.each(['', 'ZZ', 'XX', 'California', 'C', 'CAL', 'ß', 'ﬂ', 'C A', 'ＣＡ'])('refuses the state %j', (state) => {
    expect(problems(withField('dropoff_address.state', state))).toEqual([
      'dropoff_address.state: must be a two-letter US state, territory or military code, like CA',
    ]);
  });

  it.each(['94105', '94105-1234', '00501'])('takes the ZIP %s', (zip) => {
    expect(accepted(withField('dropoff_address.zip', zip)).dropoffAddress.zip).toBe(zip);
  });

  it.each([
    '9410',
    '941055',
    '94105-',
    '94105-123',
    '94105 1234',
    '941051234',
    'A4105',
    '９４１０５',
    '94105\n'.concat('1'),
  ])('refuses the ZIP %j', (zip) => {
    expect(problems(withField('dropoff_address.zip', zip))).toEqual([
      'dropoff_address.zip: must be a ZIP code, like 94103 or 94103-1234',
    ]);
  });

  it.each(['', 'express', 'Standard', ' standard', 'standard\u0000', 'constructor'])('refuses the tier %j', (tier) => {
    expect(problems(withField('delivery_tier', tier))).toEqual([
      'delivery_tier: must be one of standard, priority, scheduled',
    ]);
  });

  it('has all its bad fields named at once, each once', () => {
    const body = {
      retailer_id: 5,
      customer: { name: '', email: 'x', phone: '1', sms_opt_in: 'yes' },
      pickup_address: null,
      dropoff_address: { line1: 1, line2: 2, city: '\u0000', state: 'ZZ', zip: 'x' },
      delivery_tier: 'fast',
      external_id: 7,
      leave_at_door: 'no',
    };
    expect(
      problems(body)
        .map((problem) => problem.split(':')[0])
        .toSorted((one, other) => (one ?? '').localeCompare(other ?? '')),
    ).toEqual([
      'customer.email',
      'customer.name',
      'customer.phone',
      'customer.sms_opt_in',
      'delivery_tier',
      'dropoff_address.city',
      'dropoff_address.line1',
      'dropoff_address.line2',
      'dropoff_address.state',
      'dropoff_address.zip',
      'external_id',
      'leave_at_door',
      'pickup_address',
      'retailer_id',
    ]);
  });

  it('with only a retailer_id lacks everything else', () => {
    expect(problems({ retailer_id: 'x' })).toEqual([
      'customer: is required',
      'pickup_address: is required',
      'dropoff_address: is required',
    ]);
  });

  it('never has what was sent quoted in an error', () => {
    const secret = 'SECRET';
    const body = {
      retailer_id: [secret],
      customer: { name: `${secret}\u0000`, email: secret, phone: secret, sms_opt_in: secret },
      pickup_address: { [secret]: secret },
      dropoff_address: { line1: [secret], city: [secret], state: secret, zip: secret, [secret]: 1 },
      delivery_tier: secret,
    };
    expect(problems(body)).toHaveLength(11);
    expect(problems(body).join()).not.toContain(secret);
  });

  it('names its store in any case, before any other field is looked at', () => {
    expect(readRetailerId({ retailer_id: ' 01A2037D-1AE2 ' })).toBe('01a2037d-1ae2');
    expect(accepted(withField('retailer_id', ' 01A2037D-1AE2 ')).retailerId).toBe('01a2037d-1ae2');
    expect(readRetailerId({ retailer_id: '' })).toBe('');
    for (const body of [{}, { retailer_id: null }, { retailer_id: 5 }, { retailer_id: ['x'] }]) {
      expect(readRetailerId(body)).toBeUndefined();
    }
  });
});

describe('any input at all', () => {
  const anything = fc.anything({ withBigInt: false, maxDepth: 3 });
  const body = fc.record(
    {
      retailer_id: fc.oneof(fc.string({ unit: 'binary' }), anything),
      customer: fc.oneof(
        anything,
        fc.record({ name: anything, email: anything, phone: anything, sms_opt_in: anything }, { requiredKeys: [] }),
      ),
      pickup_address: fc.oneof(fc.string({ unit: 'binary' }), anything),
      dropoff_address: fc.oneof(
        anything,
        fc.record(
          { line1: anything, line2: anything, city: anything, state: anything, zip: anything },
          { requiredKeys: [] },
        ),
      ),
      delivery_tier: anything,
      external_id: anything,
      metadata: fc.oneof(anything, fc.dictionary(fc.string(), anything)),
      items: fc.oneof(anything, fc.array(fc.record({ name: anything, quantity: anything }, { requiredKeys: [] }))),
      dropoff_instructions: anything,
    },
    { requiredKeys: [] },
  );

  it('is either an order or a list of bad fields, and never an exception', () => {
    fc.assert(
      fc.property(body, (value) => {
        const parsed = parseJsonObject(Buffer.from(JSON.stringify(value) ?? ''));
        if (!('ok' in parsed)) return;
        const result = validatePlaceOrder(parsed.ok);
        if ('fields' in result) expect(result.fields.length).toBeGreaterThan(0);
        else expect(isJsonObject(result.ok)).toBe(true);
      }),
      { numRuns: runs(300, 1_000) },
    );
  });

  it('that is good text is kept as it is, but for its ends', () => {
    const character = fc.string({ unit: 'binary', minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(character, (name) => {
        const result = validatePlaceOrder(withField('customer.name', name));
        const good = name.trim() !== '' && !/[\p{Cs}\u2028-\u202e\u2066-\u2069]|(?!\t)\p{Cc}/u.test(name.trim());
        if ('fields' in result) expect(good).toBe(false);
        else expect([good, result.ok.customer.name]).toEqual([true, name.trim()]);
      }),
      { numRuns: runs(300, 1_000) },
    );
  });
});
