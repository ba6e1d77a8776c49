import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDocuments } from '../harness/api-document.ts';
import { TEST_MS } from '../harness/patience.ts';

/**
 * The tools are 120 MB and need a TypeScript that the project does not have, so they are in a lock file of their
 * own and are installed here alone.
 */
const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'sameday-clients-'));
const options = { cwd: folder, timeout: TEST_MS, env: { ...process.env, NO_COLOR: '1' } };

/** What a program prints; it throws, with that in the message, where the program ends with an error. */
async function run(program: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, options).catch((error: { stdout?: string }) => {
    throw new Error(`${program} ${args.join(' ')}: ${error.stdout}${String(error)}`);
  });
  return stdout;
}
/** Fields with a default are required of replies only, which the generator cannot tell from requests. */
const NO_DEFAULTS = '--default-non-nullable=false';
const tool = (path: string, ...args: readonly string[]) =>
  run(process.execPath, join(folder, 'node_modules', path), ...args);

beforeAll(async () => {
  cpSync(join(import.meta.dirname, 'clients'), folder, { recursive: true });
  const { stores, drivers } = await apiDocuments();
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(stores));
  writeFileSync(join(folder, 'openapi-drivers.json'), JSON.stringify(drivers));
  await run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
}, TEST_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(['openapi.json', 'openapi-drivers.json'])('a second linter finds nothing in %s', async (name) => {
  const spectral = '@stoplight/spectral-cli/dist/index.js';
  expect(await tool(spectral, 'lint', name, '--ruleset=spectral.yaml', '--fail-severity=hint')).toContain('No results');
});

test(
  'a generated client compiles with the order of the documentation, and refuses a misspelt one',
  async () => {
    await tool('@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'sameday', '-c', '@hey-api/client-fetch');
    await tool('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'types.d.ts', NO_DEFAULTS);
    const page = readFileSync(join(ROOT, 'docs/integrate.md'), 'utf8');
    const order = /```ts\n(\/\/ first-order\.ts\n[\s\S]*?)```/.exec(page)?.[1] ?? '';
    expect(order).toContain('createOrder(');
    // The newest TypeScript breaks the generators, so the page names the one that they are tried with here.
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    for (const name of ['typescript', '@hey-api/openapi-ts', 'openapi-typescript']) {
      expect(page).toContain(`-p ${name}@${dependencies[name]} `);
    }
    const body = /body: (\{[\s\S]*?\n {2}\})/.exec(order)?.[1] ?? '';
    const typed = "import type { paths } from './types.d.ts';\nconst RETAILER_ID = '';\n";
    const type = "paths['/orders/create']['post']['requestBody']['content']['application/json']";
    writeFileSync(join(folder, 'first-order.ts'), order);
    writeFileSync(join(folder, 'typed.ts'), `${typed}export const body: ${type} = ${body};\n`);
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'esnext'];
    const ways = ['--moduleResolution', 'bundler', '--allowImportingTsExtensions', '--types', 'node'];
    const types = ['--typeRoots', join(ROOT, 'node_modules/@types')];
    const compile = (file: string) => tool('typescript/bin/tsc', ...flags, ...ways, ...types, file);
    await compile('first-order.ts');
    await compile('typed.ts');
    writeFileSync(join(folder, 'first-order.ts'), order.replace('line1:', 'line_1:'));
    await expect(compile('first-order.ts')).rejects.toThrow('line_1');
  },
  TEST_MS,
);
