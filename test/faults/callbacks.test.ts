import { expect, test } from 'vitest';
import { wrongCards, wrongDisputes } from './callbacks.ts';

const payout = { orderId: 'a', driverId: 'd', status: 'held', reasons: ['disputed'] };

test('finds a card that was lost, and one that came back', () => {
  const good = { retailerId: 's', given: 'pm_1', kept: 'pm_1' };
  expect(wrongCards([good, { ...good, given: null, kept: null }])).toEqual([]);
  expect(wrongCards([{ ...good, kept: 'pm_0' }])).toEqual(['card: store s gave pm_1 and has pm_0']);
  expect(wrongCards([{ ...good, given: null }])).toEqual(['card: store s gave none and has pm_1']);
});

test('finds a dispute that was lost, and a payout that does not follow it', () => {
  const open = { orderId: 'a', ended: 'open', noted: 'open' } as const;
  const won = { orderId: 'a', ended: 'won', noted: 'won' } as const;
  const owed = { ...payout, status: 'owed', reasons: [] };
  expect(wrongDisputes([open], [payout])).toEqual([]);
  expect(wrongDisputes([open], [])).toEqual([]);
  expect(wrongDisputes([won], [owed])).toEqual([]);
  expect(wrongDisputes([{ ...open, noted: null }], [payout])).toHaveLength(1);
  expect(wrongDisputes([open], [owed])).toHaveLength(1);
  expect(wrongDisputes([won], [payout])).toHaveLength(1);
  expect(wrongDisputes([{ ...won, noted: 'open' }], [owed])).toHaveLength(1);
});
