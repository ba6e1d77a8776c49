import { describe, expect, test } from 'vitest';
import {
  linkEnding,
  MAX_TEXT_SEGMENTS,
  segmentsOf,
  septets,
  TEXT_KINDS,
  TEXT_SEGMENT_SEPTETS,
  TEXT_SEPTETS,
  textBody,
} from '../../src/domain/customer-text.ts';
import { UNDELIVERABLE_REASONS } from '../../src/domain/order.ts';

const TOKEN = 'abcdefghijklmnopqrstuvwx';
const BASE = 'https://delivery.example.com';

function body(text: Partial<Parameters<typeof textBody>[0]> = {}, baseUrl = BASE): string {
  return textBody(
    { kind: 'tracking', storeName: 'Corner Market', trackingToken: TOKEN, reason: null, ...text },
    baseUrl,
  );
}

test('the first text of an order says in both languages how to have no more', () => {
  expect(body()).toBe(
    'Corner Market: your delivery is confirmed. Reply STOP to end/para terminar. Follow it here: ' +
      `https://delivery.example.com/track/${TOKEN}`,
  );
  expect(body({ storeName: 'Corner Market of the Valencia Corridor' })).toBe(
    'Corner Market of the Valencia Corridor: delivery confirmed. STOP: no texts/textos: ' +
      `https://delivery.example.com/track/${TOKEN}`,
  );
  for (const kind of TEXT_KINDS) expect(body({ kind }).includes('STOP')).toBe(kind === 'tracking');
});

test('that takes no more segments than the words without it', () => {
  const plain = ': your delivery is confirmed. Follow it here: ';
  for (const storeName of ['A', 'Corner Market', 'x'.repeat(30), '[]{}'.repeat(20), '新鲜市场', '🍕'.repeat(50)]) {
    for (let length = 20; length <= 200; length++) {
      const base = `https://${'a'.repeat(length - 8)}`;
      const text = body({ storeName }, base);
      const [name = ''] = text.split(': ');
      const least = septets(name) === null ? name : [...storeName].slice(0, 12).join('');
      const segments = segmentsOf(`${least}${plain}${base}/track/${TOKEN}`);
      expect(segmentsOf(text)).toBeLessThanOrEqual(Math.max(segments, septets(name) === null ? 0 : 1));
    }
  }
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
    expect(body({ storeName: 'x'.repeat(200) })).toMatch(/^x{37}\.\.\.: delivery/);
    expect(body({ kind: 'delivered', storeName: 'Corner Market of the Valencia Corridor' })).toMatch(/^Corner Market/);
  });
});

test('typographic punctuation does not halve a segment', () => {
  expect(body({ storeName: 'Joe’s “Deli” – Mission…' })).toMatch(/^Joe's "Deli" - Mission\.\.\.: delivery/);
});

test('a name in another alphabet stays, cut after a whole character', () => {
  expect(body({ storeName: '新鲜市场' })).toMatch(/^新鲜市场: delivery/);
  expect(body({ storeName: '🍕'.repeat(50) })).toMatch(/^🍕{39}…: delivery/u);
});
