import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildWeb } from '../../scripts/build-web.mjs';

test('the files of the build before stay for pages that are open, and those of earlier ones go', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-web-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const has = (name: string) => existsSync(join(folder, name));
  writeFileSync(join(folder, 'built.json'), JSON.stringify(['track-BEFORE.js']));
  for (const name of ['track-BEFORE.js', 'track-EARLIER.js']) writeFileSync(join(folder, name), '');
  await buildWeb(folder);
  const made = readdirSync(folder);
  expect([has('track-BEFORE.js'), has('track-EARLIER.js')]).toEqual([true, false]);
  await buildWeb(folder);
  expect(readdirSync(folder).sort()).toEqual(made.filter((name) => name !== 'track-BEFORE.js').sort());
});
