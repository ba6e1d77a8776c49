import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { RELOAD_SCRIPT } from '../../src/pages/reload.ts';

const ORIGIN = 'https://delivery.example';
const script = { tagName: 'SCRIPT', src: `${ORIGIN}/assets/track-AAAA.js` };

/** What a page asks for again after these fail, and whether it is marked. */
function afterFailures(...failed: readonly object[]) {
  const dataset: { script?: string } = {};
  const again: string[] = [];
  let hear = (_event: { readonly target: object }): void => {};
  runInNewContext(RELOAD_SCRIPT, {
    document: { documentElement: { dataset } },
    location: { origin: ORIGIN, reload: () => again.push('page') },
    setTimeout: (then: () => void) => then(),
    addEventListener: (_kind: string, listener: typeof hear) => {
      hear = listener;
    },
  });
  for (const target of failed) hear({ target });
  return { again, isMarked: dataset.script === 'failed' };
}

test('a page whose script did not load is marked and loads itself again', () => {
  expect(afterFailures(script)).toEqual({ again: ['page'], isMarked: true });
});

test('a page whose style sheet did not load asks for that alone, and keeps what somebody types', () => {
  const asked: string[] = [];
  const sheet = {
    tagName: 'LINK',
    rel: 'stylesheet',
    href: `${ORIGIN}/assets/track-AAAA.css`,
    // Another element, as a browser does not go on asking for the same one.
    cloneNode: () => 'another',
    replaceWith: (other: string) => asked.push(other),
  };
  expect(afterFailures(sheet)).toEqual({ again: [], isMarked: false });
  expect(asked).toEqual(['another']);
});

test('a page stays where an image, an icon, its code or what an extension adds fails', () => {
  const image = { tagName: 'IMG', src: `${ORIGIN}/track/x/photo` };
  const icon = { tagName: 'LINK', rel: 'icon', href: `${ORIGIN}/assets/icon-AAAA.svg` };
  const added = { tagName: 'LINK', rel: 'stylesheet', href: 'https://extension.example/dark.css' };
  const page = {};
  expect(afterFailures(image, icon, page, added)).toEqual({ again: [], isMarked: false });
});
