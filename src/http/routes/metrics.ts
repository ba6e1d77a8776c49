import { createHash, timingSafeEqual } from 'node:crypto';
import type { Registry } from 'prom-client';
import { ServiceError } from '../../domain/errors.ts';
import { text } from '../../transport/reply.ts';
import { bearerToken } from '../../transport/request.ts';
import { anyone, type RequestHead, type Route } from '../../transport/route.ts';

/**
 * `GET /metrics`: the process's figures in Prometheus's text format. They name no store, driver or customer,
 * and tell whoever reads them how much business there is.
 *
 * @param token what a reader has to send as a bearer; null for anybody
 */
export function metricsRoute(registry: Registry, token: string | null): Route {
  return {
    method: 'get',
    pattern: '/metrics',
    authenticate: token === null ? anyone : (head) => requireToken(head, token),
    handle: async () => text(200, await registry.metrics(), { 'Content-Type': registry.contentType }),
  };
}

/** Compares hashes, so that the time says nothing of the token. */
function requireToken(head: RequestHead, token: string): null {
  const hash = (secret: string) => createHash('sha256').update(secret).digest();
  if (timingSafeEqual(hash(bearerToken(head) ?? ''), hash(token))) return null;
  throw new ServiceError('unauthorized', 'Send the metrics token: "Authorization: Bearer <METRICS_TOKEN>".');
}
