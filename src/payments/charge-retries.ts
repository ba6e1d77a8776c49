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
     * Runs `retry`, which counts where its outcome says so, or is not known.
     *
     * @throws {ServiceError} `rate_limited` where the store had as many tried again within an hour as it may
     */
    async run<Outcome>(
      retailerId: string,
      retry: () => Promise<Outcome>,
      counts: (outcome: Outcome) => boolean,
    ): Promise<Outcome> {
      let isCounted = false;
      try {
        // A refused one counts as well, until it is given back below.
        const over = await counter.consume(retailerId).then(
          () => null,
          (refused: unknown) => refused,
        );
        if (over) throw tooMany(perHour, over);
        const outcome = await retry();
        isCounted = counts(outcome);
        return outcome;
      } catch (error) {
        // After a mistake of ours it may have been made as well.
        isCounted = !(error instanceof ServiceError) || error.code === 'outcome_unknown';
        throw error;
      } finally {
        if (!isCounted) await counter.reward(retailerId);
      }
    },
  };
}

function tooMany(perHour: number, refused: unknown): ServiceError {
  if (!(refused instanceof RateLimiterRes)) throw refused;
  const message = `Your store may have ${perHour} charges tried again an hour; this one was not.`;
  return new ServiceError('rate_limited', message, { retryAfterSeconds: Math.ceil(refused.msBeforeNext / 1_000) });
}
