import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ServiceError } from '../domain/errors.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import type { StoreReader } from './readers.ts';

/** Time in which a store's requests are counted: its rates are by the second. */
const WINDOW_SECONDS = 1;

/** What a rate counts, as its refusal says it. */
const COUNTED = {
  orders: ['create', 'orders', 'this one was not created'],
  cancels: ['cancel', 'orders', 'this time none was cancelled'],
  reads: ['read', 'times', 'this time nothing was read'],
} as const;

/** How replies tell a store its rate, and the refusal where it is over it. */
export type StoreRate = { readonly headers: Readonly<Record<string, string>>; readonly refusal: ServiceError | null };

export type StoreRates = {
  /** Counts one more order, cancellation or read against its store's rate; null where the store has none. */
  count(key: Pick<RetailerKey, 'retailerId' | 'ordersPerSecond'>): Promise<StoreRate | null>;
};

/**
 * Counts the orders of each store in this process, in windows of a second. A window is forgotten when it is
 * over, so that only the stores of the last second take memory.
 *
 * @param defaultPerSecond for stores without a setting of their own; 0 for no bound
 * @param what what is counted: a store may cancel as many orders as it may create
 */
export function createStoreRates(defaultPerSecond: number, what: 'orders' | 'cancels' = 'orders'): StoreRates {
  const rates = countBySecond(what);
  return { count: ({ retailerId, ordersPerSecond }) => rates(retailerId, ordersPerSecond ?? defaultPerSecond) };
}

/** Counts what each store reads in the same way. @param perSecond for every store; 0 for no bound */
export function createReadRates(perSecond: number): StoreRates {
  const rates = countBySecond('reads');
  return { count: ({ retailerId }) => rates(retailerId, perSecond) };
}

type TellRate = (headers: Readonly<Record<string, string>>) => void;

/** Counts a read of a store, or of an organization, as `countRequest` does. */
export function countRead(rates: StoreRates, by: RetailerKey | StoreReader, alwaysReplyWith: TellRate): Promise<void> {
  return countRequest(rates, 'kind' in by ? { retailerId: by.id, ordersPerSecond: null } : by, alwaysReplyWith);
}

/**
 * Counts the request and throws the refusal of one that is over the rate.
 *
 * @param alwaysReplyWith told the rate
 * @throws {ServiceError} `rate_limited`
 */
export async function countRequest(
  rates: StoreRates,
  by: Parameters<StoreRates['count']>[0],
  alwaysReplyWith: TellRate,
): Promise<void> {
  const rate = await rates.count(by);
  if (rate) alwaysReplyWith(rate.headers);
  if (rate?.refusal) throw rate.refusal;
}

function countBySecond(what: keyof typeof COUNTED) {
  // Rates differ from store to store, so the limiter only counts.
  const counter = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS });

  return async (retailerId: string, perSecond: number): Promise<StoreRate | null> => {
    if (perSecond === 0) return null;
    const { consumedPoints, msBeforeNext } = await counter.consume(retailerId);
    const resetSeconds = Math.ceil(msBeforeNext / 1_000);
    return {
      headers: rateLimitHeaders(perSecond, perSecond - consumedPoints, resetSeconds),
      refusal: consumedPoints > perSecond ? tooMany(what, perSecond, resetSeconds) : null,
    };
  };
}

/** The headers of draft-ietf-httpapi-ratelimit-headers-06, the last draft with a header for each figure. */
function rateLimitHeaders(limit: number, remaining: number, resetSeconds: number): Record<string, string> {
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(Math.max(0, remaining)),
    'RateLimit-Reset': String(resetSeconds),
    'RateLimit-Policy': `${limit};w=${WINDOW_SECONDS}`,
  };
}

function tooMany(what: keyof typeof COUNTED, perSecond: number, retryAfterSeconds: number): ServiceError {
  const [may, counted, therefore] = COUNTED[what];
  const message = `You may ${may} ${perSecond} ${counted} a second; ${therefore}. Try again in a moment.`;
  return new ServiceError('rate_limited', message, { retryAfterSeconds });
}
