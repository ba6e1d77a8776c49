/**
 * Compiles the JSON Schemas of `src/http/schemas.ts` into plain functions, so that serving never loads Ajv's compiler:
 * `validators` has a function for each schema, under its name, which takes no text that cannot be stored. Writes them to
 * `src/http/validators.js`, with the few lines of Ajv's runtime that they need.
 */
import { rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Ajv } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import { build } from 'esbuild';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const TARGET = join(ROOT, 'src/http/validators.js');

async function bundle(input) {
  const result = await build({
    ...input,
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  });
  return result.outputFiles[0].text;
}

async function loadSchemas() {
  const contents = "export { schemas } from './schemas.ts'; export { storable } from './storable.ts';";
  const code = await bundle({ stdin: { contents, resolveDir: join(ROOT, 'src/http') } });
  const { schemas, storable } = await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, storable(schema)]));
}

/** ESM source of the validators: all errors at once, no coercion, and lengths counted in code points. */
function compile(schemas) {
  const ajv = new Ajv({ allErrors: true, strict: true, code: { source: true, esm: true, lines: true } });
  const names = Object.keys(schemas);
  for (const name of names) ajv.addSchema(schemas[name], name);
  const functions = standalone(ajv, Object.fromEntries(names.map((name) => [name, name])));
  return `${functions.replaceAll(/^export const /gm, 'const ')}\nexport const validators = { ${names.join(', ')} };\n`;
}

export async function buildValidators() {
  const source = compile(await loadSchemas());
  const code = await bundle({ stdin: { contents: source, resolveDir: ROOT, sourcefile: 'validators.js' } });
  // In one step, so that a test that starts meanwhile never reads half of it.
  const unfinished = `${TARGET}.${process.pid}`;
  await writeFile(unfinished, `// Written by scripts/build-validators.mjs; edit src/http/schemas.ts instead.\n${code}`);
  await rename(unfinished, TARGET);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await buildValidators();
