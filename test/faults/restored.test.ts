import { expect, test } from 'vitest';
import { findUnrestored, missingOf, type Restoration } from './restored.ts';

const MAY_LOSE_MS = 7_000;
const order = (id: string, customer = id) => ({ id, customer });
/** Three orders, of which the last one may be missing. */
const restored = (changes: Partial<Restoration> = {}): Restoration => ({
  acknowledgedMs: new Map([
    ['before', 0],
    ['old', 20_000],
    ['young', 28_000],
  ]),
  backedUpMs: 10_000,
  killedMs: 30_000,
  orders: [order('before'), order('old')],
  newestAgeMs: 10_000,
  ...changes,
});

test('a restored database may lack what was acknowledged shortly before the kill', () => {
  expect(findUnrestored(restored(), MAY_LOSE_MS)).toEqual([]);
  expect(missingOf(restored())).toEqual(['young']);
});

test('an older order that is missing is found, with the age of the newest', () => {
  expect(findUnrestored(restored({ orders: [order('before')], newestAgeMs: 30_000 }), MAY_LOSE_MS)).toEqual([
    'restored: 1 orders acknowledged over 7.0 s before the kill are missing; the newest was 30.0 s old',
  ]);
});

test('an order that is there twice is found', () => {
  const orders = [order('before'), order('old'), order('again', 'old')];
  expect(findUnrestored(restored({ orders }), MAY_LOSE_MS)).toEqual(['restored: 1 orders are there twice']);
});

test('a backup that needed no log is found to show nothing', () => {
  expect(findUnrestored(restored({ backedUpMs: 25_000 }), MAY_LOSE_MS)).toEqual([
    'restored: no order was acknowledged after the backup and over 7.0 s before the kill',
  ]);
});
