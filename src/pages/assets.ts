import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bytes } from '../transport/reply.ts';
import type { Reply } from '../transport/route.ts';

const CONTENT_TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json; charset=utf-8',
  png: 'image/png',
};
/** File names hold a hash of the content, so the content of a name never changes. */
const CACHE_FOR_EVER = 'public, max-age=31536000, immutable';

export type Assets = ReturnType<typeof loadAssets>;

/**
 * The built browser files, read once into memory (a few megabytes, most of them those of `/docs`), with a gzipped
 * copy of each.
 *
 * @param directory where `scripts/build-web.mjs` wrote; throws where its manifest is missing
 */
export function loadAssets(directory: string) {
  const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as Record<string, string>;
  const files = new Map<string, { contentType: string; plain: Buffer; gzipped: Buffer }>();
  for (const name of readdirSync(directory)) {
    const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (!contentType || name.endsWith('.json')) continue;
    const plain = readFileSync(join(directory, name));
    files.set(name, { contentType, plain, gzipped: gzipSync(plain) });
  }
  return {
    /**
     * The path of a built file by the name of its source, such as `track.js`. Throws where it was not built.
     */
    path(source: string) {
      const name = manifest[source];
      if (!name) throw new Error(`the built pages lack ${source}; build them first`);
      return `/assets/${name}`;
    },
    /** The file of that hashed name; null where there is none. */
    serve(name: string, acceptEncoding: string): Reply | null {
      const file = files.get(name);
      if (!file) return null;
      const gzip = acceptsGzip(acceptEncoding);
      return bytes(200, file.contentType, gzip ? file.gzipped : file.plain, {
        'Cache-Control': CACHE_FOR_EVER,
        Vary: 'Accept-Encoding',
        ...(gzip ? { 'Content-Encoding': 'gzip' } : {}),
      });
    },
  };
}

/** Whether a client that sent this `Accept-Encoding` takes gzip. */
export function acceptsGzip(acceptEncoding: string): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(acceptEncoding);
}
