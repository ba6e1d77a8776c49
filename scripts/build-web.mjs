// Bundles the pages' browser code into dist/web: `node scripts/build-web.mjs [out folder]`. File names
// contain a hash of the content, and manifest.json maps the name of a source to the name of its output.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import sharp from 'sharp';

/** The oldest browsers that have `<dialog>` and `Array.prototype.at`, which esbuild makes for none. */
const BROWSERS = ['chrome92', 'firefox98', 'safari15.4'];
const project = dirname(dirname(fileURLToPath(import.meta.url)));
const TRACKING = ['track/track.ts', 'track/track.css', 'track/icon.svg'];
const DRIVER = ['driver/driver.ts', 'driver/driver.css', 'driver/driver-icon.svg', 'driver/driver-worker.ts'];
const DOCS = ['docs/docs.ts', 'docs/docs.css'];
/** Sides in pixels of the icons for home screens that accept no SVG. */
const ICON_SIDES = [180, 512];

/** What the build before made, which pages that are open during an upgrade still ask for. */
const BEFORE = 'built.json';

/** Builds every page into `directory`, in which only the files of the build before stay. */
export async function buildWeb(directory) {
  mkdirSync(directory, { recursive: true });
  const before = readdirSync(directory);
  const kept = new Set(before.includes(BEFORE) ? JSON.parse(readFileSync(join(directory, BEFORE), 'utf8')) : []);
  for (const name of before) if (!kept.has(name)) rmSync(join(directory, name), { recursive: true });
  const pages = [
    // The map is a chunk of its own, so that status and stages are live before it has loaded.
    await bundle(directory, TRACKING, { splitting: true, format: 'esm' }),
    // One file each: the service worker caches the page by a list of names, and some browsers run none as a
    // module.
    await bundle(directory, DRIVER, { splitting: false, format: 'iife' }),
    await bundle(directory, DOCS, { splitting: false, format: 'esm' }),
  ];
  const manifest = await drawIcons(directory);
  for (const [path, output] of pages.flatMap(({ metafile }) => Object.entries(metafile.outputs))) {
    const source = output.entryPoint ?? Object.keys(output.inputs)[0];
    if (output.entryPoint || path.endsWith('.svg')) {
      manifest[basename(source).replace(/\.ts$/, '.js')] = basename(path);
    }
  }
  const outputs = pages.flatMap(({ metafile }) => Object.keys(metafile.outputs).map((path) => basename(path)));
  writeFileSync(join(directory, BEFORE), JSON.stringify([...outputs, ...Object.values(manifest)]));
  writeFileSync(join(directory, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

function bundle(directory, entries, format) {
  return build({
    absWorkingDir: project,
    entryPoints: entries.map((name) => `src/web/${name}`),
    outdir: directory,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    tsconfig: 'src/web/tsconfig.json',
    bundle: true,
    alias: { leaflet: 'leaflet/dist/leaflet-src.esm.js' },
    target: BROWSERS,
    minify: true,
    legalComments: 'eof',
    loader: { '.png': 'dataurl', '.svg': 'copy' },
    metafile: true,
    logLevel: 'warning',
    ...format,
  });
}

/** Draws the driver's icon as PNG in every size of ICON_SIDES; returns their names for the manifest. */
async function drawIcons(directory) {
  const names = {};
  for (const side of ICON_SIDES) {
    const png = await sharp(join(project, 'src/web/driver/driver-icon.svg')).resize(side).png().toBuffer();
    const hash = createHash('sha256').update(png).digest('hex').slice(0, 8).toUpperCase();
    const name = `driver-icon-${side}`;
    names[`${name}.png`] = `${name}-${hash}.png`;
    writeFileSync(join(directory, names[`${name}.png`]), png);
  }
  return names;
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await buildWeb(resolve(process.argv[2] ?? join(project, 'dist', 'web')));
}
