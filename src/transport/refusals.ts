import { ServiceError } from '../domain/errors.ts';
import type { SocketBehaviour } from './live-socket.ts';
import { errorReply, text } from './reply.ts';
import { anyone, type Reply, type RequestHead, type Route } from './route.ts';

/** A route, and the methods that it refuses, by the names that uWebSockets.js has for them. */
type Refusal = Route & { readonly refused: readonly (typeof METHODS)[number][] };
const METHODS = ['get', 'head', 'post', 'put', 'patch', 'del', 'options', 'any'] as const;
const NAMES: Readonly<Partial<Record<(typeof METHODS)[number], string>>> = { del: 'DELETE' };

/** Routes of last resort for any method: 405 at a known address, 400 at a WebSocket's, 404 elsewhere. */
export function refusals(
  routes: readonly Route[],
  sockets: readonly SocketBehaviour<unknown>[],
  supportEmail: string,
): Refusal[] {
  const allowed = new Map<string, string[]>();
  for (const { pattern, method } of routes) {
    const methods = method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()];
    allowed.set(pattern, [...(allowed.get(pattern) ?? []), ...methods]);
  }
  const socketPaths = sockets.map(({ path }) => path).filter((path) => !allowed.has(path));
  return [
    ...[...allowed].map(([pattern, methods]) => ({
      ...refusal(pattern, WRONG_METHOD, { Allow: methods.join(', ') }),
      refused: METHODS.filter((method) => !methods.includes(NAMES[method] ?? method.toUpperCase())),
    })),
    ...socketPaths.map((path) => refusal(path, NO_PAGE, {})),
    { ...refusal('/*', NOT_FOUND, {}), handle: ({ head }) => pageMeant(head) ?? notFound(head) },
  ];

  function notFound(head: RequestHead): Reply {
    return errorReply(NOT_FOUND, head.requestId, supportEmail);
  }

  function refusal(pattern: string, error: ServiceError, headers: Record<string, string>): Refusal {
    return {
      method: 'get',
      refused: ['any'],
      pattern,
      authenticate: anyone,
      handle: ({ head }) => errorReply(error, head.requestId, supportEmail, headers),
    };
  }
}

/**
 * Leads a person, who typed the host alone or a slash too many, to the page; null for a program, and where none is
 * meant. Never to another host, as an address that begins with two slashes would. A browser takes a backslash for a
 * slash.
 */
function pageMeant(head: RequestHead): Reply | null {
  if (head.method !== 'GET' || !head.header('accept')?.includes('text/html')) return null;
  const { path } = head;
  if (path === '/') return text(307, '', { Location: '/docs', 'Cache-Control': 'no-store' });
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  if (end === path.length || end === 0 || ['/', '\\'].includes(path[1] ?? '')) return null;
  return text(308, '', { Location: path.slice(0, end), 'Cache-Control': 'no-store' });
}

const WRONG_METHOD = new ServiceError('method_not_allowed', 'This address does not take that method.');
const NO_PAGE = new ServiceError('invalid_request', 'This address takes WebSocket connections only.');
const NOT_FOUND = new ServiceError('not_found', 'There is nothing at this address.');
