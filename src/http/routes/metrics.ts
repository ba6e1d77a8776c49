import type { Registry } from 'prom-client';
import { text } from '../../transport/reply.ts';
import { anyone, type Route } from '../../transport/route.ts';

/**
 * `GET /metrics`: the process's figures in Prometheus's text format. They name no store, driver or customer.
 */
export function metricsRoute(registry: Registry): Route {
  return {
    method: 'get',
    pattern: '/metrics',
    authenticate: anyone,
    handle: async () => text(200, await registry.metrics(), { 'Content-Type': registry.contentType }),
  };
}
