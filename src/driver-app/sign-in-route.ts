import { ServiceError } from '../domain/errors.ts';
import { hashSecret, hasSecretForm, tokenOfAttempt } from '../domain/ids.ts';
import { networkOf } from '../domain/network.ts';
import { Tally } from '../domain/tally.ts';
import { parsed } from '../http/input.ts';
import { asWritten } from '../http/outcomes.ts';
import { valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import { below, DB_CONNECTIONS } from '../limits.ts';
import { limitConcurrency } from '../postgres/batched-reads.ts';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import { signInByLink } from './phone-operations.ts';
import { MAX_PHONE_CALL_BYTES } from './tracker-routes.ts';

/**
 * Exchanges that one process makes at once, a millisecond each; others wait in line. Below DB_CONNECTIONS: made-up
 * codes leave the connections to everybody else.
 */
export const MAX_EXCHANGES_AT_ONCE = 2;
/** Exchanges of one network in line, for a tenth of a second; further ones are 503. Below MAX_EXCHANGES_WAITING. */
export const MAX_EXCHANGES_OF_NETWORK = 200;
/** Exchanges of all networks that are in line, for half a second. */
const MAX_EXCHANGES_WAITING = 1_000;
/** Pause after which a refused one comes again. */
const EXCHANGE_RETRY_SECONDS = 5;

below({ MAX_EXCHANGES_AT_ONCE }, { DB_CONNECTIONS });
below({ MAX_EXCHANGES_OF_NETWORK }, { MAX_EXCHANGES_WAITING });

/**
 * `POST /driver/sign-in`: exchanges the code of a link of the command line for a driver's token, once. Another
 * phone of the driver is signed out at this moment and not before.
 *
 * Wrong codes are counted nowhere: nobody guesses one of 192 random bits, and drivers share their networks. But each
 * network has a share of the line, which holds places of requests at work.
 */
export function driverSignInRoute(parts: { readonly store: Pick<Store, 'exchangeSignInCode'> }): Route<string> {
  const limit = limitConcurrency(MAX_EXCHANGES_AT_ONCE);
  const line = new Tally();
  let waiting = 0;
  async function exchange(network: string, ...hashes: Parameters<Store['exchangeSignInCode']>) {
    if (line.of(network) >= MAX_EXCHANGES_OF_NETWORK || waiting >= MAX_EXCHANGES_WAITING) {
      const retryAfterSeconds = EXCHANGE_RETRY_SECONDS;
      throw new ServiceError('unavailable', 'Too many links are tried at once. Try again.', { retryAfterSeconds });
    }
    line.add(network, 1);
    waiting += 1;
    try {
      return await new Promise<Awaited<ReturnType<Store['exchangeSignInCode']>>>((resolve, reject) => {
        limit.enter(() => parts.store.exchangeSignInCode(...hashes).then(resolve, reject));
      });
    } finally {
      line.add(network, -1);
      waiting -= 1;
    }
  }

  return {
    method: 'post',
    pattern: '/driver/sign-in',
    operation: signInByLink,
    /** The network stands for the caller, who has no secret but the code. */
    authenticate: (head) => networkOf(head.remoteAddress()),
    onDeadline: 'outcome_unknown',
    body: { contentTypes: ['application/json'], maxBytes: MAX_PHONE_CALL_BYTES },
    async handle({ principal: network, body }) {
      const { code, attempt } = valid(validate(validators.driverSignIn, parsed(body)));
      const token = tokenOfAttempt(code, attempt);
      if (hasSecretForm('sign_in_code', code)) {
        const exchanged = exchange(network, hashSecret(code), hashSecret(token));
        if (await asWritten(exchanged, 'Send it again with the same attempt.')) {
          return json(200, { success: true, driver_token: token });
        }
      }
      throw new ServiceError('unauthorized', 'This link was used, is too old, or is none. Ask for a new one.');
    },
  };
}
