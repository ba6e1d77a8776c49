/**
 * The rules of the contract and the README for the body of `POST /orders/create`, written a second time
 * without the service's schema, to judge its answers. Where they leave room (which exotic e-mail addresses
 * are plausible, which territories have a code, whether a ZIP is one of a state) the verdict is open.
 */

/** The content of a stored order. */
export type Expected = Readonly<Record<(typeof STORED)[number], string | boolean | null>>;
const STORED = [
  'retailer',
  'name',
  'email',
  'phone',
  'smsOptIn',
  'pickup',
  'line1',
  'line2',
  'city',
  'state',
  'zip',
  'tier',
] as const;

export type Judgement = {
  readonly status: 201 | 400 | 401 | 413;
  /** Fields that must be reported. */
  readonly bad: ReadonlySet<string>;
  /** Fields that may be reported. */
  readonly open: ReadonlySet<string>;
  /** The stored content where the order is accepted. */
  readonly expected: Expected | null;
};

const MAX_BYTES = 65_536;
const MAX_DEPTH = 32;
const NONE: ReadonlySet<string> = new Set();
const STATES = new Set(
  (
    'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC ' +
    'SD TN TX UT VT VA WA WV WI WY DC PR AA AE AP'
  ).split(' '),
);
const TIERS: readonly unknown[] = ['standard', 'priority', 'scheduled'];

type Members = ReadonlyMap<string, unknown>;
type Verdict = 'good' | 'bad' | 'open';

/** The verdict on these bytes from the store `retailerId`. */
export function judge(bytes: Buffer, retailerId: string): Judgement {
  const refused = (status: 400 | 401 | 413): Judgement => ({ status, bad: NONE, open: NONE, expected: null });
  if (bytes.length > MAX_BYTES) return refused(413);
  const value = parse(bytes);
  const body = members(value);
  if (!body || depthOf(value) > MAX_DEPTH) return refused(400);
  const named = storeId(body);
  if (named !== null && named !== retailerId) return refused(401);
  return judgeFields(body, retailerId);
}

function judgeFields(body: Members, retailerId: string): Judgement {
  const bad = new Set<string>();
  const open = new Set<string>();
  const take = (field: string, verdict: Verdict) => {
    if (verdict === 'bad') bad.add(field);
    if (verdict === 'open') open.add(field);
  };
  take('retailer_id', storeId(body) === retailerId ? 'good' : 'bad');
  take('pickup_address', text(body.get('pickup_address'), 500));
  take('delivery_tier', !body.has('delivery_tier') || TIERS.includes(body.get('delivery_tier')) ? 'good' : 'bad');
  const customer = members(body.get('customer'));
  if (!customer) take('customer', 'bad');
  else for (const [field, verdict] of judgeCustomer(customer)) take(`customer.${field}`, verdict);
  const address = members(body.get('dropoff_address'));
  if (!address) take('dropoff_address', 'bad');
  else for (const [field, verdict] of judgeAddress(address)) take(`dropoff_address.${field}`, verdict);
  const expected = customer && address && bad.size === 0 ? stored(body, customer, address) : null;
  return { status: bad.size === 0 ? 201 : 400, bad, open, expected };
}

/** UUIDs are compared without case. */
const storeId = (body: Members): string | null => trimmed(body.get('retailer_id'))?.toLowerCase() ?? null;

function judgeCustomer(customer: Members): [string, Verdict][] {
  const optIn = customer.get('sms_opt_in');
  return [
    ['name', text(customer.get('name'), 200)],
    ['email', email(customer.get('email'))],
    ['phone', /^\+[1-9][0-9]{6,14}$/.test(trimmed(customer.get('phone')) ?? '') ? 'good' : 'bad'],
    ['sms_opt_in', !customer.has('sms_opt_in') || typeof optIn === 'boolean' ? 'good' : 'bad'],
  ];
}

function judgeAddress(address: Members): [string, Verdict][] {
  const line2 = address.get('line2');
  const isAbsent = line2 === undefined || line2 === null || trimmed(line2) === '';
  return [
    ['line1', text(address.get('line1'), 200)],
    ['line2', isAbsent ? 'good' : text(line2, 200)],
    ['city', text(address.get('city'), 100)],
    ...judgeRegion(trimmed(address.get('state')), trimmed(address.get('zip')) ?? ''),
  ];
}

/** The mutated orders go to San Francisco, so that this ZIP is good there. */
function judgeRegion(state: string | null, zip: string): [string, Verdict][] {
  const verdicts = [stateCode(state), /^[0-9]{5}(-[0-9]{4})?$/.test(zip) ? 'good' : 'bad'] as const;
  const isBad = verdicts.includes('bad');
  const [stateVerdict, zipVerdict] =
    isBad || (state?.toUpperCase() === 'CA' && zip.startsWith('94103')) ? verdicts : (['open', 'open'] as const);
  return [
    ['state', stateVerdict],
    ['zip', zipVerdict],
  ];
}

/**
 * Text of at least one and at most so many code points, on one line, without halves of surrogate pairs and
 * overrides of direction, that shows something. Of what nobody sees beyond U+FFFF the verdict is open.
 */
function text(value: unknown, maxLength: number): Verdict {
  const inner = trimmed(value);
  if (inner === null || inner === '') return 'bad';
  if ([...inner].length > maxLength || !isOneLine(inner)) return 'bad';
  if (!/^[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800\ufffc]*$/u.test(inner)) return 'good';
  return /[\u{10000}-\u{10ffff}\ufffc]/u.test(inner) ? 'open' : 'bad';
}

function email(value: unknown): Verdict {
  const inner = trimmed(value);
  if (inner === null || text(value, 254) === 'bad' || /\s/.test(inner) || inner.split('@').length !== 2) return 'bad';
  return /^(?=[^@]{1,64}@)[a-z0-9+_-]+(\.[a-z0-9+_-]+)*@([a-z0-9]+\.)+[a-z]{2,}$/i.test(inner) ? 'good' : 'open';
}

function stateCode(code: string | null): Verdict {
  if (code === null || !/^[A-Za-z]{2}$/.test(code)) return 'bad';
  if (STATES.has(code.toUpperCase())) return 'good';
  return /^(xx|zz|qq)$/i.test(code) ? 'bad' : 'open';
}

function stored(body: Members, customer: Members, address: Members): Expected {
  return {
    retailer: storeId(body) ?? '',
    name: trimmed(customer.get('name')),
    email: trimmed(customer.get('email')),
    phone: trimmed(customer.get('phone')),
    smsOptIn: customer.get('sms_opt_in') === true,
    pickup: trimmed(body.get('pickup_address')),
    line1: trimmed(address.get('line1')),
    line2: trimmed(address.get('line2')) || null,
    city: trimmed(address.get('city')),
    state: trimmed(address.get('state'))?.toUpperCase() ?? null,
    zip: trimmed(address.get('zip')),
    tier: (body.get('delivery_tier') as string | undefined) ?? 'standard',
  };
}

/** The same text for two orders with the same content, whatever the order of their parts. */
export function asText(order: Expected): string {
  return JSON.stringify(STORED.map((name) => order[name]));
}

const trimmed = (value: unknown): string | null => (typeof value === 'string' ? value.trim() : null);

/** Controls, halves of surrogate pairs, line separators, and overrides and isolates of direction. */
const REFUSED: readonly (readonly [from: number, to: number])[] = [
  [0x00, 0x08],
  [0x0a, 0x1f],
  [0x7f, 0x9f],
  [0x2028, 0x202e],
  [0x2066, 0x2069],
  [0xd800, 0xdfff],
];

function isOneLine(value: string): boolean {
  for (const character of value) {
    const code = character.codePointAt(0) as number;
    if (REFUSED.some(([from, to]) => code >= from && code <= to)) return false;
  }
  return true;
}

/** The own members of an object; null for anything else. */
function members(value: unknown): Members | null {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? new Map(Object.entries(value)) : null;
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}

/** The depth of nested arrays and objects, counted level by level, as some are too deep for recursion. */
function depthOf(value: unknown): number {
  let depth = 0;
  let level = [value];
  for (;;) {
    level = level.filter((each) => typeof each === 'object' && each !== null);
    if (level.length === 0) return depth;
    depth++;
    level = level.flatMap((each) => Object.values(each as object));
  }
}
