const NOTHING = Buffer.alloc(0);

/**
 * What the transport is given for `text`. Never hand it a string that may hold more than ASCII: on Node 24 it writes one
 * whose characters are all below U+0100 as Latin-1.
 */
export function toBytes(text: string | Buffer): Buffer {
  if (typeof text !== 'string') return text;
  return text === '' ? NOTHING : Buffer.from(text);
}
