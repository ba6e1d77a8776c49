import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../domain/errors.ts';

const HOUR_SECONDS = 3_600;

/**
 * Bounds how many charges each store has tried again at this process. An hour begins with the first charge of a store,
 * and is forgotten when it is over.
 */
export function createChargeRetries(perHour: number) {
  const counter = new RateLimiterMemory({ points: perHour, duration: HOUR_SECONDS });
  return {
    /**
     * Runs `retry`, which counts if it says so.
     *
     * @throws {ServiceError} `rate_limited` where the store had as many tried again within an hour as it may
     */
    async run<Outcome>(
      retailerId: string,
      retry: () => Promise<Outcome>,
      counts: (outcome: Outcome) => boolean,
    ): Promise<Outcome> {
      const over = await counter.consume(retailerId).then(
        () => null,
        (refused: unknown) => refused,
      );
      if (over) throw tooMany(perHour, over);
      const outcome = await retry();
      if (!counts(outcome)) await counter.reward(retailerId);
      return outcome;
    },
  };
}

function tooMany(perHour: number, refused: unknown): ServiceError {
  if (!(refused instanceof RateLimiterRes)) throw refused;
  const message = `Your store may have ${perHour} charges tried again an hour; this one was not.`;
  return new ServiceError('rate_limited', message, { retryAfterSeconds: Math.ceil(refused.msBeforeNext / 1_000) });
}
