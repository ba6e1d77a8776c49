import { onTestFinished } from 'vitest';
import { type SweeperStore, startSweeper } from '../../src/queues/sweeper.ts';
import { createLogger } from '../../src/telemetry.ts';

type Parameter<N extends 1 | 2> = Parameters<typeof startSweeper>[N];

const none = async () => 0;

/**
 * Starts a sweeper, which the end of the test closes.
 *
 * @param differently what differs from a store in which nothing is owed and nothing is old
 */
export function startTestSweeper(
  differently: Partial<SweeperStore>,
  relay: Parameter<1>,
  losses: Parameter<2> = { check: async () => undefined },
) {
  const store: SweeperStore = {
    takeExpired: async () => [],
    retryDueCharges: async () => [],
    endLeases: async () => ({ rows: 0, last: null }),
    releaseParked: async () => [],
    endParked: none,
    pruneOutbox: none,
    pruneDeliveries: none,
    pruneDriverActions: none,
    pruneEvents: none,
    pruneRequests: none,
    pruneTextCounts: none,
    forgetOldSecrets: none,
    revokeEndedKeys: none,
    endPausesAhead: async () => undefined,
    ...differently,
  };
  const sweeper = startSweeper(store, relay, losses, createLogger('silent'));
  onTestFinished(() => sweeper.close());
  return sweeper;
}
