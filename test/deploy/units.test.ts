import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { findProgram } from '../harness/programs.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const UNITS = readdirSync(DEPLOY).filter((name) => name.endsWith('.service'));
const ANALYZE = findProgram(['systemd-analyze']);
const folder = mkdtempSync(join(tmpdir(), 'sameday-units-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const unit = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');

test.skipIf(!ANALYZE)('systemd takes the units without a word (needs systemd-analyze)', async () => {
  const files = UNITS.map((name) => {
    // An instance, as a template alone is not looked at. The node is the one that is here.
    const file = join(folder, name.replace('@', '@8081'));
    writeFileSync(file, unit(name).replace('/usr/bin/node', process.execPath));
    return file;
  });
  // Its exit code is 0 for a line that it does not know. It may have something to say of the system's own units, too.
  const { stdout, stderr } = await promisify(execFile)(ANALYZE ?? '', ['verify', '--man=no', ...files]);
  expect((stdout + stderr).split('\n').filter((line) => line.includes('sameday'))).toEqual([]);
});

test('the units are alike but for what they run, and where', () => {
  const own = /^(#.*|(Description|WorkingDirectory|ExecStart|TimeoutStopSec)=.*)\n/gm;
  const [first, ...others] = UNITS.map((name) => unit(name).replaceAll(own, ''));
  expect(others).toHaveLength(2);
  for (const other of others) expect(other).toBe(first);
  expect(first).toContain('SystemCallFilter=@system-service');
});
