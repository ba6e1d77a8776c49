import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { loadAssets } from '../../src/pages/assets.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';

const SCRIPT = 'let answer = 42;\n'.repeat(10_000);

function serve(acceptEncoding: string) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'manifest.json'), '{}');
  writeFileSync(join(folder, 'docs-AAAA.js'), SCRIPT);
  const reply = loadAssets(folder).serve('docs-AAAA.js', acceptEncoding);
  return {
    headers: reply?.headers,
    encoding: reply?.headers?.['Content-Encoding'],
    body: Buffer.from(reply?.body ?? ''),
  };
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

test.each(['', 'br', 'gzip;q=0'])(
  'a file is sent as it is, and may be kept for ever, to a client that takes %j',
  (acceptEncoding) => {
    const { headers, body } = serve(acceptEncoding);
    expect(headers).toEqual({
      'Content-Type': 'text/javascript; charset=utf-8',
      'Cache-Control': 'public, max-age=31536000, immutable',
      Vary: 'Accept-Encoding',
    });
    expect(body.toString()).toBe(SCRIPT);
  },
);
