import type { Authenticator } from '../http/credentials.ts';
import { JSON_BODY, parsed } from '../http/input.ts';
import { asWritten } from '../http/outcomes.ts';
import { valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import { readWebhookUrl } from '../vendors/webhook-client.ts';
import type { DriverAllowances } from './allowance.ts';
import type { Driver } from './driver.ts';
import { addPush, getPushKey, removePush } from './phone-operations.ts';

const PATTERN = '/driver/push';
const SAFE = 'Send it again; that is safe.';

/**
 * Where a driver's phone is rung while the page is closed: `GET`, `POST` and `DELETE /driver/push`.
 *
 * @param parts.publicKey that of the service's pushes, in base64url
 * @param parts.sandbox whether a phone may be rung under an address of this machine
 */
export function driverPushRoutes(parts: {
  readonly drivers: Pick<Authenticator<Driver>, 'authenticate'>;
  readonly store: Pick<Store, 'addPushSubscription' | 'removePushSubscriptions'>;
  readonly allowances: Pick<DriverAllowances, 'requests'>;
  readonly publicKey: string;
  readonly sandbox: boolean;
}): Route<Driver>[] {
  const { store, publicKey, sandbox } = parts;
  const shared = {
    pattern: PATTERN,
    authenticate: parts.drivers.authenticate,
    admit: parts.allowances.requests.admit,
  } as const;
  return [
    {
      ...shared,
      method: 'get',
      operation: getPushKey,
      handle: () => json(200, { success: true, public_key: publicKey }),
    },
    {
      ...shared,
      method: 'post',
      operation: addPush,
      body: JSON_BODY,
      async handle({ principal, body: sent }) {
        const { endpoint, keys } = valid(validate(validators.pushSubscription, parsed(sent)));
        const url = readWebhookUrl(endpoint, sandbox);
        if (typeof url === 'string') return valid({ fields: [{ field: 'endpoint', message: url }] });
        const { p256dh, auth } = keys;
        await asWritten(store.addPushSubscription(principal.driverId, { endpoint: url.href, p256dh, auth }), SAFE);
        return json(200, { success: true });
      },
    },
    {
      ...shared,
      method: 'delete',
      operation: removePush,
      body: { ...JSON_BODY, optional: true },
      async handle({ principal, body: sent }) {
        const { endpoint = null } = valid(validate(validators.pushEndpoint, parsed(sent, true)));
        const href = endpoint !== null && URL.canParse(endpoint) ? new URL(endpoint).href : endpoint;
        await asWritten(store.removePushSubscriptions(principal.driverId, href), SAFE);
        return json(200, { success: true });
      },
    },
  ];
}
