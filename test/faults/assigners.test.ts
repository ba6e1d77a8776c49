import { expect, test } from 'vitest';
import { type Assignment, wrongAssigners } from './assigners.ts';

const right: Assignment = { orderId: 'order', by: 'one', holder: 'one', epoch: 3, isValid: true };

test('finds nothing in assignments by whoever had the right to plan', () => {
  expect(wrongAssigners([right, { ...right, by: 'two', holder: 'two', epoch: 4 }])).toEqual([]);
});

test('finds an assignment by another process, by none that is known, and with a right that was over', () => {
  const faulty = [
    { ...right, by: 'two' },
    { ...right, by: null },
    { ...right, isValid: false },
  ];
  expect(wrongAssigners([right, ...faulty])).toEqual([
    'planner: process two assigned order order in epoch 3, though one had the right to',
    'planner: process null assigned order order in epoch 3, though one had the right to',
    'planner: process one assigned order order in epoch 3, though the right of one was over',
  ]);
});
