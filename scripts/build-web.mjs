// Bundles the browser code of the pages into dist/web: `node scripts/build-web.mjs [out folder]`.
// File names carry a hash of their content; manifest.json maps the source's name to the built one.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const project = dirname(dirname(fileURLToPath(import.meta.url)));
const ENTRIES = ['track.ts', 'track.css', 'icon.svg'];

/** Builds every page into `directory`, which is emptied first. */
export async function buildWeb(directory) {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: project,
    entryPoints: ENTRIES.map((name) => `src/web/${name}`),
    outdir: directory,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    tsconfig: 'src/web/tsconfig.json',
    bundle: true,
    // The map is a chunk of its own: status and stages are live before it has loaded.
    splitting: true,
    alias: { leaflet: 'leaflet/dist/leaflet-src.esm.js' },
    format: 'esm',
    target: ['chrome90', 'firefox90', 'safari15'],
    minify: true,
    legalComments: 'eof',
    loader: { '.png': 'dataurl', '.svg': 'copy' },
    metafile: true,
    logLevel: 'warning',
  });
  const manifest = {};
  for (const [path, output] of Object.entries(metafile.outputs)) {
    const source = output.entryPoint ?? Object.keys(output.inputs)[0];
    if (output.entryPoint || path.endsWith('.svg')) {
      manifest[basename(source).replace(/\.ts$/, '.js')] = basename(path);
    }
  }
  writeFileSync(join(directory, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await buildWeb(resolve(process.argv[2] ?? join(project, 'dist', 'web')));
}
