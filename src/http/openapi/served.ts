import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** A document as it is sent, made once. */
export type ServedDocument = { readonly plain: Buffer; readonly gzipped: Buffer; readonly etag: string };

export function served(document: object): ServedDocument {
  const plain = Buffer.from(JSON.stringify(document));
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
  return { plain, gzipped: gzipSync(plain), etag: `"${hash}"` };
}
