import type { Operation } from '../../transport/operation.ts';
import { object } from '../openapi/schema.ts';

/** What `/openapi.json` says of the routes that tell how the service is. */

export const liveness: Operation = {
  id: 'isAlive',
  tag: 'Service',
  summary: 'Whether the process is alive',
  secret: 'none',
  replies: { 200: object({ status: { type: 'string', const: 'ok' } }) },
  errors: [],
};

export const readiness: Operation = {
  id: 'isReady',
  tag: 'Service',
  summary: 'Whether the service takes orders',
  secret: 'none',
  replies: {
    200: object(
      { status: { type: 'string', const: 'ready' } },
      { misconfigured: { type: 'array', items: { type: 'string' } } },
    ),
  },
  errors: [],
};
