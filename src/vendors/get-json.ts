import { MAX_VENDOR_REPLY_BYTES } from './http-exchange.ts';

type JsonReply = { readonly status: number; readonly body: unknown };

/**
 * Asks a server for JSON. Null where none came, be it refused, reset, too slow, too large or not JSON: the
 * caller can do the same about each.
 *
 * @param signal ends the call, also in the middle of the reply
 * @param contact whom the server's operator may write to
 */
export async function getJson(url: URL, signal: AbortSignal, contact?: string): Promise<JsonReply | null> {
  try {
    // Nominatim's usage policy asks clients to identify themselves. A header is ASCII, and an address may not be.
    const agent = `sameday-dispatch${contact ? ` (${encodeURI(contact)})` : ''}`;
    const reply = await fetch(url, { headers: { Accept: 'application/json', 'User-Agent': agent }, signal });
    return { status: reply.status, body: JSON.parse(await readBounded(reply)) };
  } catch {
    return null;
  }
}

/** An address below another one, whose query is kept. */
export function urlBelow(base: string, path: string): URL {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/\/$/, '') + path;
  return url;
}

async function readBounded(reply: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of reply.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_VENDOR_REPLY_BYTES) throw new RangeError('reply too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
