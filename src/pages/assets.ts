import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { PageReply } from './page-headers.ts';

const CONTENT_TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json; charset=utf-8',
  png: 'image/png',
};
/** Names hold a hash of the content, so a name never changes its meaning. */
const CACHE_FOR_EVER = 'public, max-age=31536000, immutable';

export type Assets = {
  /** The path of a built file by the name of its source, such as `track.js`. Throws where the build did not make it. */
  path(source: string): string;
  /** The file of that hashed name; null where there is none. */
  serve(name: string, acceptEncoding: string): PageReply | null;
};

/**
 * The built browser files, read once into memory (a few hundred kilobytes), with a gzipped copy of each.
 *
 * @param directory where `scripts/build-web.mjs` wrote; throws where its manifest is missing
 */
export function loadAssets(directory: string): Assets {
  const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as Record<string, string>;
  const files = new Map<string, { contentType: string; bytes: Uint8Array; gzipped: Uint8Array }>();
  for (const name of readdirSync(directory)) {
    const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (!contentType || name === 'manifest.json') continue;
    const bytes = readFileSync(join(directory, name));
    files.set(name, { contentType, bytes, gzipped: gzipSync(bytes) });
  }
  return {
    path(source) {
      const name = manifest[source];
      if (!name) throw new Error(`the built pages lack ${source}; build them first`);
      return `/assets/${name}`;
    },
    serve(name, acceptEncoding) {
      const file = files.get(name);
      if (!file) return null;
      const gzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(acceptEncoding);
      return {
        status: 200,
        headers: [
          ['Content-Type', file.contentType],
          ['Cache-Control', CACHE_FOR_EVER],
          ['Vary', 'Accept-Encoding'],
          ...(gzip ? ([['Content-Encoding', 'gzip']] as const) : []),
        ],
        body: gzip ? file.gzipped : file.bytes,
      };
    },
  };
}
