import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { newId } from '../domain/ids.ts';
import { HEADER_NAMES, type RequestHead } from './route.ts';

/**
 * Longest path with its query, in characters. At least that of a list by an `external_id` of MAX_EXTERNAL_ID_LENGTH
 * characters, of which each may take 12, with 400 for the other filters; the transport takes 4 KB with the headers.
 */
const MAX_TARGET_LENGTH = 3_500;
/**
 * Most characters in all headers of a request. A browser sends under 2,000 and proxies add little. From Node
 * 22 on, uWebSockets.js refuses more than 4 KB or 98 headers itself, with 431.
 */
const MAX_HEADERS_LENGTH = 16_384;
/** Longest `Content-Type` in characters. The longest one in use has 35. */
const MAX_CONTENT_TYPE_LENGTH = 256;
/** Longest address of a client that a proxy may name, in characters: an IPv6 address with zone and port. */
const MAX_FORWARDED_LENGTH = 100;

export type ReadHead = {
  readonly head: RequestHead;
  /** Bytes of the body as announced: 0 without a body, undefined where it comes in chunks. */
  readonly announcedBytes: number | undefined;
  /**
   * Why the request is refused and its connection ended, such as two lengths; null where nothing is wrong.
   */
  readonly fault: string | null;
  /**
   * Whether the connection ends with this request, because where the request ends is uncertain:
   * uWebSockets.js reads the frames of chunks loosely, and after a header without a name it sees no further
   * ones, such as a length. A HEAD is the last one too, because uWebSockets.js cannot end its reply.
   */
  readonly isLast: boolean;
};

/** Headers that may come once: of two, sender and receiver might each believe another one. */
const SINGLE: ReadonlySet<string> = new Set([
  'authorization',
  'content-length',
  'content-type',
  'host',
  'idempotency-key',
  'transfer-encoding',
]);
const COPIED: ReadonlySet<string> = new Set([...HEADER_NAMES, ...SINGLE, 'x-forwarded-for']);

/**
 * Copies what is needed of a request, before anything asynchronous: `request` must not outlive its callback.
 */
export function readHead(
  response: HttpResponse,
  request: HttpRequest,
  paramCount: number,
  trustProxy: boolean,
): ReadHead {
  const headers = new Map<string, string>();
  let repeated: string | null = null;
  let headersLength = 0;
  request.forEach((name, value) => {
    headersLength += name.length + value.length;
    if (!COPIED.has(name)) return;
    const isFirst = !headers.has(name);
    if (!isFirst && SINGLE.has(name)) repeated ??= name;
    // The first of several counts, except that the last proxy is our own, and that several encodings are one list.
    if (isFirst || name === 'x-forwarded-for') headers.set(name, value);
    else if (name === 'content-encoding') headers.set(name, `${headers.get(name)}, ${value}`);
  });
  const length = headers.get('content-length');
  const encoding = headers.get('transfer-encoding');
  const method = request.getCaseSensitiveMethod().toUpperCase();
  const path = request.getUrl();
  const query = request.getQuery();
  return {
    head: {
      method,
      path,
      params: Array.from({ length: paramCount }, (_, index) => decode(request.getParameter(index) ?? '')),
      query: new URLSearchParams(query),
      header: (name) => headers.get(name),
      remoteAddress: () => (trustProxy && lastHop(headers.get('x-forwarded-for'))) || addressOf(response),
      requestId: newId(),
    },
    announcedBytes: encoding !== undefined ? undefined : Number(length ?? 0),
    fault: faultOfHeaders(repeated, headersLength) ?? faultOfLength(length, encoding) ?? faultOfTarget(path, query),
    isLast: encoding !== undefined || method === 'HEAD' || (length === undefined && method !== 'GET'),
  };
}

function faultOfHeaders(repeated: string | null, headersLength: number): string | null {
  if (headersLength > MAX_HEADERS_LENGTH) return 'The headers are too long.';
  return repeated === null ? null : `The header ${repeated} came twice and may come only once.`;
}

function faultOfLength(length: string | undefined, encoding: string | undefined): string | null {
  const isClear =
    length === undefined
      ? encoding === undefined || encoding.trim().toLowerCase() === 'chunked'
      : encoding === undefined && /^\d{1,15}$/.test(length);
  return isClear ? null : 'The length of the body is ambiguous.';
}

/** A target is visible ASCII that escapes UTF-8 without U+0000; anything else could be read in two ways. */
function faultOfTarget(path: string, query = ''): string | null {
  if (path.length + query.length > MAX_TARGET_LENGTH) return 'The address is too long.';
  return isCleanTarget(path) && isCleanTarget(query) ? null : 'The address is not well-formed.';
}

function isCleanTarget(text: string): boolean {
  if (!/^[!-~]*$/.test(text) || text.includes('#')) return false;
  return !text.includes('%') || isEncodedText(text);
}

/**
 * Whether another request can follow on the connection: not where the rest of the body is longer than
 * `maxDiscardedBytes`, or where the end of the request is uncertain.
 */
export function canKeepConnection(read: ReadHead, receivedBytes: number, maxDiscardedBytes: number): boolean {
  if (read.fault !== null || read.isLast || read.announcedBytes === undefined) return false;
  return read.announcedBytes - receivedBytes <= maxDiscardedBytes;
}

/** How many parameters a pattern such as `/orders/:id` has. */
export function countParams(pattern: string): number {
  return pattern.split('/').filter((segment) => segment.startsWith(':')).length;
}

/** The secret of an `Authorization: Bearer …` header (RFC 6750), or null where there is none. */
export function bearerToken(head: RequestHead): string | null {
  return /^bearer +(\S+) *$/i.exec(head.header('authorization') ?? '')?.[1] ?? null;
}

/**
 * Whether a `Content-Type` is one of `accepted` (lower case), in UTF-8 where it names a character set. One
 * that is longer than MAX_CONTENT_TYPE_LENGTH, or whose character set cannot be read, is none.
 */
export function isMediaType(contentType: string | undefined, accepted: readonly string[]): boolean {
  if (contentType === undefined || contentType.length > MAX_CONTENT_TYPE_LENGTH) return false;
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  return accepted.includes(type) && parameters.every(isUtf8);
}

const UTF8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', '"utf-8"', '"utf8"', '"us-ascii"']);

/** False for a parameter that names another character set. */
function isUtf8(parameter: string): boolean {
  const [name = '', value = ''] = parameter.split('=', 2);
  return name.trim() !== 'charset' || UTF8.has(value.trim());
}

/** A parameter that cannot be decoded is left as it is, since its request is refused. */
function decode(parameter: string): string {
  return parameter.includes('%') && isEncodedText(parameter) ? decodeURIComponent(parameter) : parameter;
}

function isEncodedText(text: string): boolean {
  try {
    return !decodeURIComponent(text).includes('\0');
  } catch {
    return false;
  }
}

/**
 * The address that the last proxy added; one that is too long is none. Some gateways add the port of the connection,
 * with which each connection would count as a network of its own.
 */
function lastHop(forwardedFor: string | undefined): string | undefined {
  const hop = forwardedFor?.slice(forwardedFor.lastIndexOf(',') + 1).trim();
  if (hop === undefined || hop.length > MAX_FORWARDED_LENGTH) return undefined;
  return hop.replace(/^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/, '$1$2');
}

/** The address at the other end of the connection: the client's, or a proxy's. */
export function addressOf(response: HttpResponse): string {
  return Buffer.from(response.getRemoteAddressAsText()).toString('latin1');
}
