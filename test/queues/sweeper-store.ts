import type { SweeperStore } from '../../src/queues/sweeper.ts';

const none = async () => 0;

/** A store in which nothing is owed and nothing is old, but for what a test replaces. */
export function sweeperStore(differently: Partial<SweeperStore>): SweeperStore {
  return {
    takeExpired: async () => [],
    retryDueCharges: async () => [],
    endLeases: none,
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
    ...differently,
  };
}
