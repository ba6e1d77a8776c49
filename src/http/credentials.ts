import { ServiceError } from '../domain/errors.ts';
import { hashSecret, hasSecretForm, type SecretKind } from '../domain/ids.ts';
import { bearerToken } from '../transport/request.ts';
import type { RequestHead } from '../transport/route.ts';
import { asAvailable } from './outcomes.ts';
import type { UnknownSecrets } from './unknown-secrets.ts';

export type Credentials<Holder> = {
  /**
   * The holder of a secret, from memory if it was read within the last moment; null where nobody holds it.
   *
   * @param address whose client sent it
   * @throws {ServiceError} `rate_limited` for a secret that is not known here, from an address that sent too many unknown ones
   */
  find(secretHash: string, address: string): Promise<Holder | null>;
  /** Whether somebody held it some moments ago, told at once; too old to let anybody in. False says nothing. */
  remembers(secretHash: string): boolean;
};

/**
 * Remembers for a moment who holds a secret, so that a busy client costs two look-ups a moment and not one a request. A
 * revoked secret stops working when its moment is over, whatever became of notices; "nobody" is never remembered, so a
 * new one works at once. Look-ups of one secret at the same time are one. What was good once is looked up again whatever else
 * comes from the same address; others are not once it has sent too many secrets that nobody ever held here.
 */
export function createCredentials<Holder>(
  lookUp: (secretHash: string) => Promise<Holder | null>,
  unknown: UnknownSecrets,
  options: {
    readonly keepMs: number;
    readonly rememberMs: number;
    readonly maxKept: number;
    readonly now: () => number;
  },
): Credentials<Holder> {
  const kept = new Map<string, { readonly holder: Holder; readonly untilMs: number }>();
  const asked = new Map<string, { readonly answer: Promise<Holder | null>; readonly sinceMs: number }>();

  async function ask(secretHash: string): Promise<Holder | null> {
    // Counted from before the look-up, since what it finds is as old as that.
    const untilMs = options.now() + options.keepMs;
    const holder = await lookUp(secretHash);
    if (holder === null) {
      // Who goes on with a key that was good once does not guess, and a suspended store's may be good again any moment.
      const before = kept.get(secretHash);
      if (before) kept.set(secretHash, { ...before, untilMs: Number.NEGATIVE_INFINITY });
      return null;
    }
    const [oldest] = kept.keys();
    if (kept.size >= options.maxKept && oldest !== undefined) kept.delete(oldest);
    kept.delete(secretHash);
    kept.set(secretHash, { holder, untilMs });
    return holder;
  }

  /** Joins a look-up that is under way, unless what it finds may be older than what is kept. */
  function askOnce(secretHash: string): Promise<Holder | null> {
    const sinceMs = options.now();
    const other = asked.get(secretHash);
    if (other && sinceMs - other.sinceMs < options.keepMs) return other.answer;
    const answer = ask(secretHash).finally(() => {
      if (asked.get(secretHash)?.answer === answer) asked.delete(secretHash);
    });
    asked.set(secretHash, { answer, sinceMs });
    return answer;
  }

  /** Who held it when it was last read, and for how long that holds; asked anew before the moment is over. */
  function recall(secretHash: string): { readonly holder: Holder; readonly leftMs: number } | null {
    const known = kept.get(secretHash);
    if (!known) return null;
    const leftMs = known.untilMs - options.now();
    // So that a busy client waits for no look-up; where it fails, the next asks.
    if (leftMs <= options.keepMs / 2) void askOnce(secretHash).catch(() => undefined);
    return { holder: known.holder, leftMs };
  }

  async function refuseGuesser(address: string): Promise<void> {
    const retryAfterSeconds = await unknown.secondsToWait(address);
    if (retryAfterSeconds === 0) return;
    const message = 'Too many keys or tokens that nobody holds came from your address. Try again later.';
    throw new ServiceError('rate_limited', message, { retryAfterSeconds });
  }

  return {
    async find(secretHash, address) {
      const known = recall(secretHash);
      if (known && known.leftMs > 0) return known.holder;
      if (!known) await refuseGuesser(address);
      const holder = await askOnce(secretHash);
      if (holder === null && !known) await unknown.count(address);
      return holder;
    },
    remembers: (secretHash) =>
      (recall(secretHash)?.leftMs ?? Number.NEGATIVE_INFINITY) > options.keepMs - options.rememberMs,
  };
}

/**
 * Authenticates a request by its bearer secret.
 *
 * @throws {ServiceError} `unauthorized` where it is missing or nobody's; `unavailable` where that can't be asked;
 * `rate_limited` where its address has guessed too often
 */
export function authenticateBy<Holder>(
  kind: SecretKind,
  credentials: Pick<Credentials<Holder>, 'find'>,
): (head: RequestHead) => Promise<Holder> {
  const name = kind === 'api_key' ? 'API key' : 'driver token';
  return async (head) => {
    const secret = bearerToken(head);
    if (secret === null)
      throw new ServiceError('unauthorized', `Send your ${name}: "Authorization: Bearer <${name}>".`);
    const holder = hasSecretForm(kind, secret)
      ? await asAvailable(credentials.find(hashSecret(secret), head.remoteAddress()))
      : null;
    if (holder === null) throw unauthorized(name);
    return holder;
  };
}

/** Whether a request's secret was good a moment ago, told at once; false says nothing. */
export function isRemembered(kind: SecretKind, credentials: Pick<Credentials<unknown>, 'remembers'>) {
  return (head: RequestHead): boolean => {
    const secret = bearerToken(head);
    return secret !== null && hasSecretForm(kind, secret) && credentials.remembers(hashSecret(secret));
  };
}

export function unauthorized(name = 'API key'): ServiceError {
  return new ServiceError('unauthorized', `The ${name} is wrong, or what it belongs to is not active.`);
}
