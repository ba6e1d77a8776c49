import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { loadAssets } from '../../src/pages/assets.ts';

const SCRIPT = 'let answer = 42;\n'.repeat(10_000);

function serve(acceptEncoding: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-assets-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'manifest.json'), '{}');
  writeFileSync(join(folder, 'docs-AAAA.js'), SCRIPT);
  const reply = loadAssets(folder).serve('docs-AAAA.js', acceptEncoding);
  return { encoding: reply?.headers?.['Content-Encoding'], body: Buffer.from(reply?.body ?? '') };
}

test.each(['gzip', 'gzip, deflate, br', 'br;q=1.0, gzip;q=0.8'])(
  'a file is sent compressed to a client that takes %s',
  (acceptEncoding) => {
    const { encoding, body } = serve(acceptEncoding);
    expect(encoding).toBe('gzip');
    expect(body.length).toBeLessThan(SCRIPT.length / 10);
    expect(gunzipSync(body).toString()).toBe(SCRIPT);
  },
);

test.each(['', 'br', 'gzip;q=0'])('a file is sent as it is to a client that takes %j', (acceptEncoding) => {
  const { encoding, body } = serve(acceptEncoding);
  expect(encoding).toBeUndefined();
  expect(body.toString()).toBe(SCRIPT);
});
