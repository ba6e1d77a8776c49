import { STORE_ADDRESS } from '../harness/order-world.ts';
import type { Random } from '../harness/world.ts';
import {
  CHARACTERS,
  DOUBLES,
  EMAILS,
  INVALID,
  NAMES,
  PHONES,
  RAW,
  raw,
  SPACES,
  STATES,
  TAILS,
  TIERS,
  UNSTORABLE,
  VALUES,
  ZIPS,
} from './odd-values.ts';
import { any, below } from './row.ts';

type Tree = { [name: string]: unknown };
/** Changes an order as an object. */
type TreeMutation = (order: Tree, random: Random) => void;
/** Changes its text or bytes. */
type ByteMutation = (bytes: Buffer, random: Random) => Buffer;

/** The path of each field and its longest text (0 for a field without free text). */
const FIELDS: readonly (readonly [readonly string[], number])[] = [
  [['retailer_id'], 0],
  [['customer'], 0],
  [['customer', 'name'], 200],
  [['customer', 'email'], 254],
  [['customer', 'phone'], 0],
  [['customer', 'sms_opt_in'], 0],
  [['pickup_address'], 500],
  [['dropoff_address'], 0],
  [['dropoff_address', 'line1'], 200],
  [['dropoff_address', 'line2'], 200],
  [['dropoff_address', 'city'], 100],
  [['dropoff_address', 'state'], 0],
  [['dropoff_address', 'zip'], 0],
  [['delivery_tier'], 0],
];
const TEXTS = FIELDS.filter(([, longest]) => longest > 0);

function put(order: Tree, path: readonly string[], value: unknown): void {
  const [last = '', ...parents] = path.toReversed();
  let at: unknown = order;
  for (const name of parents.toReversed()) at = (at as Tree)[name];
  if (typeof at !== 'object' || at === null) return;
  if (value === undefined) delete (at as Tree)[last];
  else Object.defineProperty(at, last, { value, enumerable: true, configurable: true, writable: true });
}

function get(order: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (typeof at === 'object' && at !== null ? (at as Tree)[name] : undefined),
    order,
  );
}

function nested(levels: number, random: Random): unknown {
  const [open, close] = any(
    [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const,
    random,
  );
  return raw(`${open.repeat(levels)}1${close.repeat(levels)}`);
}

const TREE_MUTATIONS: readonly TreeMutation[] = [
  (order, random) => put(order, any(FIELDS, random)[0], any(VALUES, random)),
  (order, random) => put(order, any(FIELDS, random)[0], undefined),
  (order, random) => {
    const [path, longest] = any(TEXTS, random);
    put(
      order,
      path,
      any(CHARACTERS, random)
        .repeat(longest * 2)
        .slice(0, longest - 1 + below(random, 3)),
    );
  },
  (order, random) => {
    // Counted in code points, which are twice as many UTF-16 units.
    const [path, longest] = any(TEXTS, random);
    put(order, path, '🛵'.repeat(longest - 1 + below(random, 3)));
  },
  (order, random) => {
    const [path] = any(TEXTS, random);
    put(order, path, `${get(order, path)}${any(CHARACTERS, random)}${any(CHARACTERS, random)}`);
  },
  (order, random) => {
    const [path] = any(FIELDS, random);
    const value = get(order, path);
    if (typeof value === 'string') put(order, path, `${any(SPACES, random)}${value}${any(SPACES, random)}`);
  },
  (order, random) => {
    const [path] = any(FIELDS, random);
    const value = get(order, path);
    if (typeof value === 'string') put(order, path, `${value.slice(0, 3)}${any(UNSTORABLE, random)}${value.slice(3)}`);
  },
  (order, random) => put(order, ['customer', 'phone'], any(PHONES, random)),
  (order, random) => put(order, ['customer', 'email'], any(EMAILS, random)),
  (order, random) => put(order, ['customer', 'sms_opt_in'], any([true, false, 'true', 1, null], random)),
  (order, random) => put(order, ['dropoff_address', 'state'], any(STATES, random)),
  (order, random) => put(order, ['dropoff_address', 'zip'], any(ZIPS, random)),
  (order, random) => put(order, ['dropoff_address', 'line2'], any(['Apt 4', '', '  ', null, 'x'.repeat(201)], random)),
  (order, random) => put(order, ['delivery_tier'], any(TIERS, random)),
  (order, random) =>
    put(order, [...any([[], ['customer'], ['dropoff_address']], random), any(NAMES, random)], any(VALUES, random)),
  (order, random) => put(order, ['delivery_fee'], any([0, -1, 1, raw('1e400')], random)),
  (order, random) => put(order, ['extra'], nested(any([29, 30, 31, 32, 33, 5_000, 30_000], random), random)),
  (order, random) => {
    const character = any(CHARACTERS, random);
    const bytes = any([1_000, 20_000, 65_000, 70_000], random);
    put(order, ['extra'], character.repeat(bytes / Buffer.byteLength(character)));
  },
];

const insert = (bytes: Buffer, at: number, more: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);
const BYTE_MUTATIONS: readonly ByteMutation[] = [
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    const at = below(random, bytes.length);
    changed[at] = (changed[at] as number) ^ (1 << below(random, 8));
    return changed;
  },
  (bytes, random) => bytes.subarray(0, below(random, bytes.length)),
  (bytes, random) => insert(bytes, below(random, bytes.length), Buffer.from([below(random, 256)])),
  (bytes, random) => {
    const at = below(random, bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + below(random, 8))]);
  },
  (bytes, random) => insert(bytes, below(random, bytes.length), any(INVALID, random)),
  (bytes, random) => insert(bytes, bytes.length, Buffer.from(any(TAILS, random))),
  (bytes, random) => insert(bytes, 0, Buffer.from(any(['efbbbf', 'feff', 'fffe', '20', '0a'], random), 'hex')),
  (bytes) => Buffer.from(bytes.toString('utf8'), 'utf16le'),
  // Of two members with one name the last one counts, so one in front changes nothing and one behind does.
  (bytes, random) => insert(bytes, 1, Buffer.from(`${any(DOUBLES, random)},`)),
  (bytes, random) => insert(bytes, bytes.length - 1, Buffer.from(`,${any(DOUBLES, random)}`)),
  (bytes) => Buffer.from(`[${bytes}]`),
  (bytes) => Buffer.from(JSON.stringify(bytes.toString('utf8'))),
];

/** The bytes of an order's body with up to three changes; one in eight has none. */
export function mutatedOrder(retailerId: string, random: Random): Buffer {
  const order: Tree = {
    retailer_id: retailerId,
    customer: { name: `Jo ${below(random, 1e9)}`, email: 'jo@example.com', phone: '+14155550123' },
    pickup_address: STORE_ADDRESS,
    dropoff_address: { line1: '401 Valencia St', city: 'San Francisco', state: 'CA', zip: '94103' },
  };
  const lot = random();
  if (lot < 0.125) return bytesOf(order);
  if (lot < 0.7) for (let times = 1 + below(random, 3); times > 0; times--) any(TREE_MUTATIONS, random)(order, random);
  const bytes = bytesOf(order);
  return lot < 0.6 ? bytes : any(BYTE_MUTATIONS, random)(bytes, random);
}

function bytesOf(order: Tree): Buffer {
  return Buffer.from(JSON.stringify(order).replaceAll(RAW, (_, text: string) => text.replaceAll('\\"', '"')));
}
