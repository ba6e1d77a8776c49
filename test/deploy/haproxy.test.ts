import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findHaproxy, haproxyConfig, hasHaproxy } from '../harness/haproxy.ts';

const folder = mkdtempSync(join(tmpdir(), 'sameday-haproxy-'));
const certificate = join(folder, 'sameday.pem');

beforeAll(() => {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-nodes', '-newkey', 'rsa:2048', '-days', '2', '-subj', '/CN=localhost'];
  execFileSync('openssl', ['req', '-x509', ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  writeFileSync(certificate, readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.skipIf(!hasHaproxy())('HAProxy takes deploy/haproxy.cfg as it is, without a warning', async () => {
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, haproxyConfig({ '/etc/haproxy/sameday.pem': certificate }));
  const { stderr } = await promisify(execFile)(findHaproxy() ?? '', ['-c', '-f', file]);
  expect(stderr).not.toMatch(/WARNING|ALERT/);
});
