import { describe, expect, test } from 'vitest';
import { linkEnding, septets, TEXT_KINDS, textBody } from '../../src/domain/customer-text.ts';
import { UNDELIVERABLE_REASONS } from '../../src/domain/order.ts';
import { MAX_TEXT_SEGMENTS, TEXT_SEGMENT_SEPTETS, TEXT_SEPTETS } from '../../src/limits.ts';

const TOKEN = 'abcdefghijklmnopqrstuvwx';
const BASE = 'https://delivery.example.com';

function body(text: Partial<Parameters<typeof textBody>[0]> = {}, baseUrl = BASE): string {
  return textBody(
    { kind: 'tracking', storeName: 'Corner Market', trackingToken: TOKEN, reason: null, ...text },
    baseUrl,
  );
}

test('the text with the tracking link reads as it always did', () => {
  expect(body()).toBe(
    `Corner Market: your delivery is confirmed. Follow it here: https://delivery.example.com/track/${TOKEN}`,
  );
});

test('no text ends as one of another kind or order ends', () => {
  for (const kind of TEXT_KINDS) {
    const text = body({ kind });
    const found = TEXT_KINDS.filter((each) => text.endsWith(linkEnding(each, TOKEN)));
    expect(found).toEqual([kind]);
    expect(text.endsWith(linkEnding(kind, TOKEN.replace('x', 'y')))).toBe(false);
  }
});

test('a failed handover is told with its reason', () => {
  const texts = UNDELIVERABLE_REASONS.map((reason) => body({ kind: 'not_delivered', reason }));
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts[0]).toContain('could not be handed over: nobody was home. It goes back to the store');
  expect(body({ kind: 'not_delivered', reason: 'other' })).toContain('could not be handed over. It goes');
});

describe('a store with a name in the GSM alphabet', () => {
  const names = ['A', 'Corner Market', 'Käsekönig & Söhne', 'x'.repeat(200), '€'.repeat(60), '[]{}'.repeat(20)];
  test.each(names)('%s has texts of one segment, or of two where the address is long', (storeName) => {
    for (const kind of TEXT_KINDS) {
      for (const reason of kind === 'not_delivered' ? UNDELIVERABLE_REASONS : [null]) {
        const long = septets(body({ kind, reason, storeName })) ?? Number.NaN;
        expect(long).toBeLessThanOrEqual(kind === 'not_delivered' ? 2 * TEXT_SEGMENT_SEPTETS : TEXT_SEPTETS);
        const base = `https://${'a'.repeat(80)}.example.com`;
        const longer = septets(body({ kind, reason, storeName }, base)) ?? Number.NaN;
        expect(longer).toBeLessThanOrEqual(MAX_TEXT_SEGMENTS * TEXT_SEGMENT_SEPTETS);
      }
    }
  });

  test('is named in each of them, cut where it is long', () => {
    expect(body({ storeName: 'x'.repeat(200) })).toMatch(/^x{37}\.\.\.: your/);
    expect(body({ kind: 'delivered', storeName: 'Corner Market of the Valencia Corridor' })).toMatch(/^Corner Market/);
  });
});

test('typographic punctuation does not halve a segment', () => {
  expect(body({ storeName: 'Joe’s “Deli” – Mission…' })).toMatch(/^Joe's "Deli" - Mission\.\.\.: your/);
});

test('a name in another alphabet stays, cut after a whole character', () => {
  expect(body({ storeName: '新鲜市场' })).toMatch(/^新鲜市场: your/);
  expect(body({ storeName: '🍕'.repeat(50) })).toMatch(/^🍕{39}…: your/u);
});
