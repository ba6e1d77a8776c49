import { expect, test } from 'vitest';
import { warningsOf } from '../../src/http/order-warnings.ts';

const ORDER = {
  retailer_id: 'r',
  customer: { name: 'Ada', email: 'ada@example.com', phone: '+14155550123', sms_opt_in: true },
  pickup_address: '1 Market St',
  dropoff_address: { line1: '2 Mission St', line2: null, city: 'San Francisco', state: 'CA', zip: '94105' },
  delivery_tier: 'standard',
  external_id: 'A-1',
  metadata: { anything: 'x', at: 'y' },
  items: [{ name: 'Lamp', quantity: 1 }],
  pickup_instructions: 'x',
  dropoff_instructions: 'x',
  leave_at_door: true,
};
const named = (body: object) => warningsOf(body as never).map(({ field }) => field);

test('an order of known fields has no warnings', () => {
  expect(warningsOf(ORDER)).toEqual([]);
});

test('unknown fields are named at every level, in their order', () => {
  const body = {
    fee: 1,
    ...ORDER,
    customer: { ...ORDER.customer, fone: { deep: 1 } },
    items: [ORDER.items[0], { name: 'x', quantity: 1, sku: 'y' }],
    dropoff_address: { ...ORDER.dropoff_address, lat: 1 },
    constructor: 1,
  };
  expect(warningsOf(body)[0]).toEqual({ field: 'fee', message: 'is not a field of an order; it was ignored' });
  expect(named(body)).toEqual(['fee', 'customer.fone', 'dropoff_address.lat', 'items[1].sku', 'constructor']);
});

test('at most 20 are named, each as text of a bounded length', () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`f${i}`, i]));
  expect(named({ ...ORDER, customer: { ...ORDER.customer, ...many }, ...many })).toHaveLength(20);
  expect(named({ [`\u001b[2J\u202e${'x'.repeat(50_000)}`]: 1 })).toEqual([`\\u001b[2J\\u202e${'x'.repeat(55)}…`]);
  expect(named(JSON.parse('{"__proto__": 1}'))).toEqual(['__proto__']);
});

test('what is of another type than it should be has no warnings of its own', () => {
  expect(named({ customer: null, items: { a: 1 }, dropoff_address: [{ a: 1 }], retailer_id: { a: 1 } })).toEqual([]);
});
