import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whyNotHere } from '../../scripts/platform.mjs';

const ROOT = join(import.meta.dirname, '../..');
const machine = (node: string, glibc: string | undefined, platform = 'linux', arch = 'x64') => ({
  node,
  platform,
  arch,
  glibc: () => glibc,
});

describe('whyNotHere', () => {
  it('lets through where the transport has a binary that loads', () => {
    expect(whyNotHere(ROOT, machine('20.11.0', '2.27'))).toBeUndefined();
    expect(whyNotHere(ROOT, machine('20.20.2', '2.36'))).toBeUndefined();
    expect(whyNotHere(ROOT, machine('22.12.0', '2.39'))).toBeUndefined();
    expect(whyNotHere(ROOT, machine('24.1.0', '2.41', 'linux', 'arm64'))).toBeUndefined();
    expect(whyNotHere(ROOT, machine('20.11.0', undefined, 'darwin', 'arm64'))).toBeUndefined();
  });

  it('says in one sentence what to install elsewhere', () => {
    expect(whyNotHere(ROOT, machine('18.20.0', '2.36'))).toMatch(
      /^Sameday needs Node 20\.11 .* install Node 24, 22 or 20/,
    );
    expect(whyNotHere(ROOT, machine('20.10.0', '2.36'))).toMatch(/install Node 24, 22 or 20/);
    expect(whyNotHere(ROOT, machine('22.12.0', '2.36'))).toMatch(/needs glibc 2\.38 .* has 2\.36: install Node 20,/);
    expect(whyNotHere(ROOT, machine('20.20.0', '2.17'))).toMatch(/needs glibc 2\.27 .*: install a newer Linux\.$/);
    expect(whyNotHere(ROOT, machine('23.1.0', '2.41'))).toMatch(/no binary for Node 23/);
    expect(whyNotHere(ROOT, machine('26.0.0', '2.41'))).toMatch(/no binary for Node 26/);
    expect(whyNotHere(ROOT, machine('20.20.0', undefined))).toMatch(/Alpine/);
    expect(whyNotHere(ROOT, machine('20.20.0', '2.36', 'linux', 's390x'))).toMatch(/linux on s390x/);
  });

  it('leaves another package of the transport to be tried', () => {
    const root = mkdtempSync(join(tmpdir(), 'sameday-platform-'));
    writeFileSync(
      join(root, 'package.json'),
      '{"dependencies":{"uWebSockets.js":"github:uNetworking/uWebSockets.js"}}',
    );
    expect(whyNotHere(root, machine('26.0.0', '2.41'))).toBeUndefined();
    rmSync(root, { recursive: true });
  });
});
