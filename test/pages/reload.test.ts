import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { RELOAD_SCRIPT } from '../../src/pages/reload.ts';

const ORIGIN = 'https://delivery.example';
const script = { tagName: 'SCRIPT', src: `${ORIGIN}/assets/track-AAAA.js` };
const sheet = { tagName: 'LINK', rel: 'stylesheet', href: `${ORIGIN}/assets/track-AAAA.css` };

/** How often a page loads itself again after these fail, and whether it is marked. */
function afterFailures(...failed: readonly object[]) {
  const dataset: { script?: string } = {};
  let reloads = 0;
  let hear = (_event: { readonly target: object }): void => {};
  runInNewContext(RELOAD_SCRIPT, {
    document: { documentElement: { dataset } },
    location: { origin: ORIGIN, reload: () => reloads++ },
    setTimeout: (then: () => void) => then(),
    addEventListener: (_kind: string, listener: typeof hear) => {
      hear = listener;
    },
  });
  for (const target of failed) hear({ target });
  return { reloads, isMarked: dataset.script === 'failed' };
}

test.each([
  ['script', [script]],
  ['style sheet', [sheet]],
  ['script and style sheet', [script, sheet]],
])('a page whose %s did not load is marked and loads itself again, once', (_what, failed) => {
  expect(afterFailures(...failed)).toEqual({ reloads: 1, isMarked: true });
});

test('a page stays where an image, an icon, its code or what an extension adds fails', () => {
  const image = { tagName: 'IMG', src: `${ORIGIN}/track/x/photo` };
  const icon = { tagName: 'LINK', rel: 'icon', href: `${ORIGIN}/assets/icon-AAAA.svg` };
  const added = { ...sheet, href: 'https://extension.example/dark.css' };
  const page = {};
  expect(afterFailures(image, icon, page, added)).toEqual({ reloads: 0, isMarked: false });
});
