import { ServiceError } from '../../domain/errors.ts';
import { READINESS_DEADLINE_MS } from '../../limits.ts';
import { json } from '../../transport/reply.ts';
import { anyone, type Route } from '../../transport/route.ts';
import { withTimeout } from '../../with-timeout.ts';
import { readiness } from './service-operations.ts';

/**
 * `GET /readyz`: 503 where `isReady` gives false, fails, or does not answer within `deadlineMs` milliseconds.
 */
export function readyzRoute(isReady: () => Promise<boolean>, deadlineMs = READINESS_DEADLINE_MS): Route {
  return {
    method: 'get',
    pattern: '/readyz',
    isHealthCheck: true,
    operation: readiness,
    authenticate: anyone,
    async handle() {
      if (await answersYes(isReady, deadlineMs)) return json(200, { status: 'ready' });
      throw new ServiceError('unavailable', 'The service is not ready.');
    },
  };
}

async function answersYes(isReady: () => Promise<boolean>, deadlineMs: number): Promise<boolean> {
  try {
    return await withTimeout(isReady(), deadlineMs, () => new Error('Readiness could not be asked in time'));
  } catch {
    return false;
  }
}
