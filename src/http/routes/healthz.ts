import { json } from '../../transport/reply.ts';
import { anyone, type Route } from '../../transport/route.ts';
import { liveness } from './service-operations.ts';

/** `GET /healthz`: the process is alive. It asks nothing else, so that no outage elsewhere restarts it. */
export function healthzRoute(): Route {
  return {
    method: 'get',
    pattern: '/healthz',
    isHealthCheck: true,
    operation: liveness,
    authenticate: anyone,
    handle: () => json(200, { status: 'ok' }),
  };
}
