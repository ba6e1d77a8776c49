import { ServiceError } from '../domain/errors.ts';
import { hashSecret, hasSecretForm, tokenOfAttempt } from '../domain/ids.ts';
import { parsed } from '../http/input.ts';
import { asWritten } from '../http/outcomes.ts';
import { valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import { below, DB_CONNECTIONS } from '../limits.ts';
import { limitConcurrency } from '../postgres/batched-reads.ts';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import { anyone, type Route } from '../transport/route.ts';
import { signInByLink } from './phone-operations.ts';
import { MAX_PHONE_CALL_BYTES } from './tracker-routes.ts';

/**
 * Exchanges that one process makes at once, a millisecond each; others wait in line. Below DB_CONNECTIONS: made-up
 * codes leave the connections to everybody else.
 */
export const MAX_EXCHANGES_AT_ONCE = 2;

below({ MAX_EXCHANGES_AT_ONCE }, { DB_CONNECTIONS });

/**
 * `POST /driver/sign-in`: exchanges the code of a link of the command line for a driver's token, once. Another
 * phone of the driver is signed out at this moment and not before.
 *
 * Wrong codes are counted nowhere: nobody guesses one of 192 random bits, and drivers share their networks.
 */
export function driverSignInRoute(parts: { readonly store: Pick<Store, 'exchangeSignInCode'> }): Route<null> {
  const limit = limitConcurrency(MAX_EXCHANGES_AT_ONCE);
  const exchange: Store['exchangeSignInCode'] = (...hashes) =>
    new Promise((resolve, reject) => {
      limit.enter(() => parts.store.exchangeSignInCode(...hashes).then(resolve, reject));
    });

  return {
    method: 'post',
    pattern: '/driver/sign-in',
    operation: signInByLink,
    authenticate: anyone,
    onDeadline: 'outcome_unknown',
    body: { contentTypes: ['application/json'], maxBytes: MAX_PHONE_CALL_BYTES },
    async handle({ body }) {
      const { code, attempt } = valid(validate(validators.driverSignIn, parsed(body)));
      const token = tokenOfAttempt(code, attempt);
      if (hasSecretForm('sign_in_code', code)) {
        const exchanged = exchange(hashSecret(code), hashSecret(token));
        if (await asWritten(exchanged, 'Send it again with the same attempt.')) {
          return json(200, { success: true, driver_token: token });
        }
      }
      throw new ServiceError('unauthorized', 'This link was used, is too old, or is none. Ask for a new one.');
    },
  };
}
