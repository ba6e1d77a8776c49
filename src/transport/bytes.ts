/**
 * The bytes of `text`, in UTF-8, for the transport. Every text that may hold more than ASCII goes through here:
 * on Node 24 the transport writes a string whose characters are all below U+0100 as Latin-1.
 */
export function toBytes(text: string | Buffer): Buffer {
  return typeof text === 'string' ? Buffer.from(text) : text;
}
