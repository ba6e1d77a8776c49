import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ServiceError } from '../domain/errors.ts';
import { isId } from '../domain/ids.ts';
import type { WebhookOwner } from '../domain/webhook.ts';
import type { Authenticator } from '../http/credentials.ts';
import type { StoreReader } from '../http/readers.ts';
import type { RequestHead } from '../transport/route.ts';

/** Whose webhooks a key manages: its store's, or its organization's. */
export const ownerOf = ({ kind, id }: StoreReader): WebhookOwner => ({ kind, id });

/** Authenticates who manages webhooks. */
export type WebhookManagers = Pick<Authenticator<StoreReader>, 'authenticate'>;

export const noSuchWebhook = (): ServiceError => new ServiceError('not_found', 'There is no such webhook.');
export const noSuchDelivery = (): ServiceError => new ServiceError('not_found', 'There is no such delivery.');

/**
 * The webhook that a path names first.
 *
 * @throws {ServiceError} `not_found` where it cannot be an id
 */
export function webhookIdOf({ params: [id = ''] }: RequestHead): string {
  if (!isId(id)) throw noSuchWebhook();
  return id;
}

/** Counts one more of what an owner does. @throws {ServiceError} `rate_limited` */
export type OwnerRate = (owner: WebhookOwner) => Promise<void>;

/**
 * Bounds what each owner does in this process, in windows of `seconds`.
 *
 * @param refusal the message of one that is over it
 */
export function createOwnerRate(most: number, seconds: number, refusal: string): OwnerRate {
  const counter = new RateLimiterMemory({ points: most, duration: seconds });
  return async ({ id }) => {
    const over = await counter.consume(id).then(
      () => null,
      (result: { readonly msBeforeNext: number }) => result,
    );
    if (!over) return;
    throw new ServiceError('rate_limited', refusal, { retryAfterSeconds: Math.ceil(over.msBeforeNext / 1_000) });
  };
}
