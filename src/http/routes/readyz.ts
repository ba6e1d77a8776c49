import { ServiceError } from '../../domain/errors.ts';
import { sharedRead } from '../../shared-read.ts';
import { json } from '../../transport/reply.ts';
import { anyone, type Route } from '../../transport/route.ts';
import { withTimeout } from '../../with-timeout.ts';
import { readiness } from './service-operations.ts';

/** Longest readiness check; one that takes longer has failed. */
export const READINESS_DEADLINE_MS = 2_000;

/** Whether the service takes orders, and the vendors that refuse its credentials. */
export type Readiness = { readonly ready: boolean; readonly misconfigured?: readonly string[] };

/**
 * `GET /readyz`: 503 where `read` says not ready, fails, or does not answer within `deadlineMs` milliseconds. Vendors
 * do not count, because orders are taken without them; those that refuse the credentials are named. Anybody may ask,
 * so all who ask at once share a read, which is over at the deadline for each of them.
 */
export function readyzRoute(read: () => Promise<Readiness>, deadlineMs = READINESS_DEADLINE_MS): Route {
  const askOnce = sharedRead(() => answered(read, deadlineMs));
  return {
    method: 'get',
    pattern: '/readyz',
    isHealthCheck: true,
    operation: readiness,
    authenticate: anyone,
    async handle() {
      const { ready, misconfigured = [] } = await askOnce();
      if (ready) return json(200, { status: 'ready', ...(misconfigured.length > 0 ? { misconfigured } : {}) });
      throw new ServiceError('unavailable', 'The service is not ready.');
    },
  };
}

async function answered(read: () => Promise<Readiness>, deadlineMs: number): Promise<Readiness> {
  try {
    return await withTimeout(read(), deadlineMs, () => new Error('Readiness could not be asked in time'));
  } catch {
    return { ready: false };
  }
}
