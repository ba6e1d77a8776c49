import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { newId } from '../domain/ids.ts';
import { HEADER_NAMES, type RequestHead } from './route.ts';

const COPIED: ReadonlySet<string> = new Set(HEADER_NAMES);

export type ReadHead = {
  readonly head: RequestHead;
  /** Bytes of the body as announced: 0 without one, undefined where it comes in chunks. */
  readonly announcedBytes: number | undefined;
  /** Whether where the body ends can be read in two ways; such a request is refused and its connection closed. */
  readonly ambiguous: boolean;
};

/** Copies what is needed of a request. To be called before anything asynchronous: `request` dies with its callback. */
export function readHead(
  response: HttpResponse,
  request: HttpRequest,
  paramCount: number,
  trustProxy: boolean,
): ReadHead {
  const headers = new Map<string, string>();
  let lengths = 0;
  let encodings = 0;
  request.forEach((name, value) => {
    if (!COPIED.has(name)) return;
    if (name === 'content-length') lengths++;
    else if (name === 'transfer-encoding') encodings++;
    // Of several the first counts, but the last proxy is the one that is ours.
    if (name === 'x-forwarded-for' || !headers.has(name)) headers.set(name, value);
  });
  const length = headers.get('content-length');
  const encoding = headers.get('transfer-encoding');
  return {
    head: {
      method: request.getCaseSensitiveMethod().toUpperCase(),
      path: request.getUrl(),
      params: Array.from({ length: paramCount }, (_, index) => decode(request.getParameter(index) ?? '')),
      query: new URLSearchParams(request.getQuery()),
      header: (name) => headers.get(name),
      remoteAddress: (trustProxy && lastHop(headers.get('x-forwarded-for'))) || addressOf(response),
      requestId: newId(),
    },
    announcedBytes: encoding !== undefined ? undefined : Number(length ?? 0),
    ambiguous:
      lengths > 1 ||
      encodings > 1 ||
      (lengths > 0 && encodings > 0) ||
      (length !== undefined && !/^\d{1,15}$/.test(length)) ||
      (encoding !== undefined && encoding.trim().toLowerCase() !== 'chunked'),
  };
}

/** How many parameters a pattern such as `/orders/:id` has. */
export function countParams(pattern: string): number {
  return pattern.split('/').filter((segment) => segment.startsWith(':')).length;
}

/** The secret of an `Authorization: Bearer …` header (RFC 6750), or null where there is none. */
export function bearerToken(head: RequestHead): string | null {
  return /^bearer +(\S+) *$/i.exec(head.header('authorization') ?? '')?.[1] ?? null;
}

/** Whether a `Content-Type` is one of `accepted` (lower case), in UTF-8 where it names a character set. */
export function isMediaType(contentType: string | undefined, accepted: readonly string[]): boolean {
  if (contentType === undefined) return false;
  const [type = '', ...parameters] = contentType.split(';');
  if (!accepted.includes(type.trim().toLowerCase())) return false;
  const charset = parameters.map((each) => /^\s*charset\s*=\s*"?([^"]*?)"?\s*$/i.exec(each)?.[1]).find(Boolean);
  return charset === undefined || ['utf-8', 'utf8', 'us-ascii'].includes(charset.toLowerCase());
}

/** A parameter that can't be decoded is left as it is: it then names nothing we know. */
function decode(parameter: string): string {
  if (!parameter.includes('%')) return parameter;
  try {
    return decodeURIComponent(parameter);
  } catch {
    return parameter;
  }
}

function lastHop(forwardedFor: string | undefined): string | undefined {
  return forwardedFor?.split(',').at(-1)?.trim();
}

function addressOf(response: HttpResponse): string {
  return Buffer.from(response.getRemoteAddressAsText()).toString('latin1');
}
