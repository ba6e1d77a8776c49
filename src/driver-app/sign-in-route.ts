import { ServiceError } from '../domain/errors.ts';
import { hashSecret, hasSecretForm, tokenOfAttempt } from '../domain/ids.ts';
import { networkOf } from '../domain/network.ts';
import { parsed } from '../http/input.ts';
import { asWritten } from '../http/outcomes.ts';
import { valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import { signInByLink } from './phone-operations.ts';
import { MAX_PHONE_CALL_BYTES } from './tracker-routes.ts';
import { WrongLinks } from './wrong-links.ts';

/**
 * `POST /driver/sign-in`: exchanges the code of a link of the command line for a driver's token, once. Another
 * phone of the driver is signed out at this moment and not before.
 *
 * @param parts.now a clock in milliseconds, for the count of wrong links alone
 */
export function driverSignInRoute(parts: {
  readonly store: Pick<Store, 'exchangeSignInCode'>;
  readonly now: () => number;
}): Route<string> {
  const wrong = new WrongLinks(parts.now);
  function checkWait(network: string): void {
    const retryAfterSeconds = wrong.waitOf(network);
    if (retryAfterSeconds === 0) return;
    throw new ServiceError('rate_limited', 'Too many links were wrong. Wait a minute.', { retryAfterSeconds });
  }

  /** The driver's exchange counts as wrong while it lasts, and no longer where it is not. */
  async function exchange(network: string, code: string, token: string) {
    wrong.add(network);
    let isWrong = false;
    try {
      const exchanged = parts.store.exchangeSignInCode(hashSecret(code), hashSecret(token));
      const found = await asWritten(exchanged, 'Send it again with the same attempt.');
      isWrong = found === null;
      return found;
    } finally {
      if (!isWrong) wrong.takeBack(network);
    }
  }

  return {
    method: 'post',
    pattern: '/driver/sign-in',
    operation: signInByLink,
    /** The network stands for the caller, who has no secret but the code. */
    authenticate: (head) => networkOf(head.remoteAddress()),
    admit({ principal: network }) {
      checkWait(network);
      return null;
    },
    onDeadline: 'outcome_unknown',
    body: { contentTypes: ['application/json'], maxBytes: MAX_PHONE_CALL_BYTES },
    async handle({ principal: network, body }) {
      const { code, attempt } = valid(validate(validators.driverSignIn, parsed(body)));
      const token = tokenOfAttempt(code, attempt);
      // Others of this network may have come while the body did.
      checkWait(network);
      const isCode = hasSecretForm('sign_in_code', code);
      if (!isCode) wrong.add(network);
      else if (await exchange(network, code, token)) return json(200, { success: true, driver_token: token });
      throw new ServiceError('unauthorized', 'This link was used, is too old, or is none. Ask for a new one.');
    },
  };
}
