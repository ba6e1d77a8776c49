/**
 * The UTF-8 of a text, as uWebSockets.js is to be given it. On Node 24 it writes a string whose characters
 * are all below U+0100 as Latin-1.
 */
export function toBytes(text: string | Buffer): Buffer {
  return typeof text === 'string' ? Buffer.from(text) : text;
}
