import type { Positions } from '../dispatch/positions.ts';
import { ServiceError } from '../domain/errors.ts';
import { hashSecret, hasSecretForm } from '../domain/ids.ts';
import { type Credentials, unauthorized } from '../http/credentials.ts';
import { asAvailable } from '../http/outcomes.ts';
import { atMost, MAX_UNAUTHENTICATED_BODY_BYTES } from '../limits.ts';
import { json } from '../transport/reply.ts';
import { anyone, type Reply, type Route, type RouteRequest } from '../transport/route.ts';
import type { DriverAllowances } from './allowance.ts';
import type { Driver } from './driver.ts';
import { reportByQuery, reportByTracker } from './phone-operations.ts';
import { readTracked } from './tracker-input.ts';

/**
 * Largest request of a tracking app, or with a sign-in link, in bytes; Traccar Client's have under 1,000. At
 * most MAX_UNAUTHENTICATED_BODY_BYTES, as its sender is known only by its last byte.
 */
export const MAX_PHONE_CALL_BYTES = 4 * 1024;

atMost({ MAX_PHONE_CALL_BYTES }, { MAX_UNAUTHENTICATED_BODY_BYTES });

/** Where tracking apps report. */
export const TRACKER_PATH = '/driver/traccar';

/**
 * Positions of a tracking app, which runs behind another one where a page sends nothing: `GET` and
 * `POST /driver/traccar`. The device identifier is a secret that does nothing else.
 *
 * Such an app sends its oldest position again until it is answered 200, and nothing else before. So one that is
 * old, of no use or not needed is answered 200, and only what may be better later is refused.
 */
export function trackerRoutes(parts: {
  readonly trackers: Pick<Credentials<Driver>, 'find'>;
  readonly positions: Pick<Positions, 'report' | 'wants'>;
  readonly allowances: Pick<DriverAllowances, 'trackers'>;
}): Route<null>[] {
  const { trackers, positions, allowances } = parts;

  async function handle({ head, body }: RouteRequest<null>): Promise<Reply> {
    const { secret, location } = readTracked(head, body);
    const driver = secret === null ? null : await find(secret);
    if (!driver) throw unauthorized('device identifier');
    allowances.trackers.admit({ principal: driver });
    const isWanted = positions.wants(driver.driverId);
    const outcome = isWanted && location ? positions.report(driver.driverId, location) : 'not_needed';
    if (isWanted === null || outcome === 'unknown_driver') {
      throw new ServiceError('unavailable', 'This driver is not known here yet.');
    }
    return json(200, { success: true, taken: outcome === 'taken' });
  }

  async function find(secret: string): Promise<Driver | null> {
    return hasSecretForm('tracker', secret) ? asAvailable(trackers.find(hashSecret(secret))) : null;
  }

  const shared = { pattern: TRACKER_PATH, authenticate: anyone, handle };
  const contentTypes = ['application/x-www-form-urlencoded', 'application/json'];
  return [
    { ...shared, method: 'get', operation: reportByQuery },
    {
      ...shared,
      method: 'post',
      operation: reportByTracker,
      body: { contentTypes, maxBytes: MAX_PHONE_CALL_BYTES, optional: true },
    },
  ];
}
