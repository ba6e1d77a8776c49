import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { STEP_MS } from '../harness/patience.ts';

const ROOT = resolve(import.meta.dirname, '../..');
let folder: string;

beforeAll(() => {
  // Inside of the project, so that the packages are found.
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  folder = mkdtempSync(join(ROOT, 'dist/no-compiler-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a module with the source of the service in a process of its own; what it prints last is the modules it loaded. */
async function loadedModules(code: string): Promise<string[]> {
  const entry = join(folder, 'entry.mjs');
  const contents = `${code}
    import { createRequire } from 'node:module';
    console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)));`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: join(ROOT, 'src/http'), loader: 'ts' },
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    write: false,
  });
  writeFileSync(entry, outputFiles[0]?.text ?? '');
  const output = execFileSync(process.execPath, [entry], { cwd: ROOT, encoding: 'utf8', timeout: STEP_MS });
  return JSON.parse(output.trim().split('\n').at(-1) ?? '[]') as string[];
}

function ofAjv(modules: string[]): string[] {
  return modules.filter((path) => /[\\/]node_modules[\\/]ajv/.test(path));
}

const SERVE = `
  import { validateLocation } from '../driver-app/input.ts';
  import { json } from '../transport/reply.ts';
  import { anyone } from '../transport/route.ts';
  import { createServer } from '../transport/server.ts';
  import { openTransport } from '../transport/transport.ts';
  import { parseJsonObject } from './json.ts';
  import { validatePlaceOrder } from './place-order-input.ts';
  import { validate } from './validate.ts';
  import { validators } from './validators.js';
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const routes = [{
    method: 'post', pattern: '/check', authenticate: anyone,
    body: { contentTypes: ['application/json'], maxBytes: 1000 },
    handle: ({ body }) => {
      const { ok } = parseJsonObject(body);
      return json(200, [validatePlaceOrder(ok), validate(validators.driverDuty, ok), validateLocation(ok)]);
    },
  }];
  const options = { routes, sockets: [], logger, mode: 'live', supportEmail: 'a@b.c', trustProxy: false };
  const server = createServer(openTransport(), options);
  const { port } = await server.listen('127.0.0.1', 0);
  const headers = { 'content-type': 'application/json' };
  const response = await fetch('http://127.0.0.1:' + port + '/check', { method: 'POST', headers, body: '{}' });
  if ((await response.json()).some(({ fields }) => fields.length === 0)) throw new Error('not validated');
  server.close();`;

it('serves and validates without loading a line of Ajv', async () => {
  const modules = await loadedModules(SERVE);
  expect(modules.some((path) => path.includes('uWebSockets.js'))).toBe(true);
  expect(ofAjv(modules)).toEqual([]);
});

it('would notice if it did', async () => {
  expect(ofAjv(await loadedModules(`import { Ajv } from 'ajv'; new Ajv();`))).not.toEqual([]);
});
