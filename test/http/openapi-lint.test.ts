import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { apiDocuments } from '../harness/api-document.ts';
import { STEP_MS } from '../harness/patience.ts';

const ROOT = join(import.meta.dirname, '../..');
const CLI = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js');
const folder = mkdtempSync(join(tmpdir(), 'sameday-openapi-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Report = { readonly totals: { errors: number; warnings: number }; readonly problems: readonly object[] };

/** What the linter finds in a document. It tells nobody of the run and asks for no newer version. */
async function lint(name: string, document: object): Promise<Report> {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(document));
  const config = `--config=${join(import.meta.dirname, 'redocly.yaml')}`;
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const options = { cwd: folder, env, timeout: STEP_MS, maxBuffer: 16 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'lint', file, '--format=json', config], options)
    // It ends with 1 where it found something.
    .catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }));
  return JSON.parse(stdout) as Report;
}

const { stores, drivers } = await apiDocuments();

test.each([
  ['openapi.json', stores],
  ['openapi-drivers.json', drivers],
])('the linter finds nothing in %s', async (name, document) => {
  expect(await lint(name, document)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
});

test('the linter finds what is wrong', async () => {
  const { totals } = await lint('wrong.json', { ...stores, components: {} });
  expect(totals.errors).toBeGreaterThan(10);
});
