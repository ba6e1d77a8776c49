import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ORDER_STATUSES, UNDELIVERABLE_REASONS } from '../../src/domain/order.ts';
import { detail, headline, stageLabel, stageState, stopsText } from '../../src/tracking/sentences.ts';
import { trackingView } from '../../src/tracking/view.ts';
import { speakTracking } from '../../src/words/tracking.ts';
import { TRACKING_ES } from '../../src/words/tracking-es.ts';
import { acceptedLanguages, LANGUAGES, languageOf, type Text } from '../../src/words/words.ts';
import { behind, NOW_MS, pickedUp } from '../tracking/orders.ts';

const formsOf = (text: Text): string[] => (typeof text === 'string' ? [text] : [text.one, text.other]);

describe('the texts of the customer’s page', () => {
  it('put no article before a time, which may begin with a day or with one o’clock', () => {
    const timed = Object.values(TRACKING_ES)
      .flatMap(formsOf)
      .filter((text) => /\{times?\}/.test(text));
    expect(timed.length).toBeGreaterThan(1);
    for (const text of timed) expect(text).not.toMatch(/\b(la|las|de|a)\s+\{times?\}/i);
  });

  it('say every state, reason and step in each language, without a gap', () => {
    for (const language of LANGUAGES) {
      const say = speakTracking[language];
      const said = new Set<string>();
      for (const status of ORDER_STATUSES) {
        for (const reason of [null, ...UNDELIVERABLE_REASONS]) {
          for (const stopsBefore of [0, 1, 2, null]) {
            const order = pickedUp({
              status,
              reason,
              onRoute: behind(stopsBefore),
              driverFirstName: reason ? 'Ana' : null,
            });
            const view = trackingView(order, null, NOW_MS);
            said.add(headline(view, say)).add(detail(view, say)).add(stopsText(view, say));
            for (const stage of view.stages) said.add(stageLabel(stage, status, say)).add(stageState(stage, say));
          }
        }
      }
      for (const text of said) expect(text).not.toMatch(/[{}]|undefined|null/);
      expect(said.size).toBeGreaterThan(45);
    }
  });

  it('count one stop and several', () => {
    const stops = (language: 'en' | 'es', stopsBefore: number | null) =>
      stopsText(trackingView(pickedUp({ onRoute: behind(stopsBefore) }), null, NOW_MS), speakTracking[language]);
    expect([1, 2, 0, null].map((count) => stops('en', count))).toEqual([
      '1 stop before you',
      '2 stops before you',
      '',
      '',
    ]);
    expect([1, 2].map((count) => stops('es', count))).toEqual(['1 parada antes de esta', '2 paradas antes de esta']);
  });

  it('are all of them: no file of the page has another', () => {
    const folder = join(import.meta.dirname, '../../src');
    for (const file of FILES) expect([file, texts(readFileSync(join(folder, file), 'utf8'))]).toEqual([file, []]);
    expect(texts("const a = 'Not saved';")).toEqual(['Not saved']);
    expect(texts('<p title="Help me">.</p><b>Reload </b>')).toEqual(['Help me', 'Reload']);
  });
});

const FILES = [
  'tracking/page.ts',
  'tracking/sentences.ts',
  'tracking/view.ts',
  ...['track', 'render', 'notes', 'map', 'line', 'distance', 'pins', 'feed', 'track-words'].map(
    (name) => `web/track/${name}.ts`,
  ),
];

/** What reads like words for people: text between tags, attributes that are read, and strings of two words. */
function texts(source: string): string[] {
  const code = source
    .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    .replace(/^import[\s\S]*?;$/gm, '')
    .replace(/new Error\(.*\)/g, '');
  const found = [
    ...code.matchAll(/(?:title|alt|aria-label|placeholder)="([^"$]+)/g),
    ...code.matchAll(/(?:[^=]>|\})([^<>$`{}=;()]*[A-Za-z]{3}[^<>$`{}=;()]*)(?=<\/?[a-z]+[ >]|\$\{)/g),
    ...code.matchAll(/'([A-Z][a-z]+ [a-z][^'\n]*)'/g),
  ];
  // The time zone of the server's times, which the script writes anew.
  return found.map(([, text = '']) => text.trim()).filter((text) => text !== 'UTC');
}

describe('the language of a page', () => {
  const of = (header: string) => languageOf(acceptedLanguages(header));

  it.each([
    ['', 'en'],
    ['es', 'es'],
    ['ES-mx,en;q=0.9', 'es'],
    ['en-US,en;q=0.9,es;q=0.8', 'en'],
    ['en;q=0.3, es ; q=0.7', 'es'],
    ['fr-CA,es-419;q=0.9', 'es'],
    ['es;q=0,en', 'en'],
    ['est,esu', 'en'],
    ['*', 'en'],
    [';q=;q=,,;', 'en'],
  ])('is, of "%s", %s', (header, language) => {
    expect(of(header)).toBe(language);
  });
});
