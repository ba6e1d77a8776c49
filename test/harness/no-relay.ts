import type { Relay } from '../../src/queues/relay.ts';

/** Hands nothing over, for a test whose jobs nobody does. */
export const noRelay: Relay = {
  relay: () => undefined,
  openQueues: async () => [],
  roomUntil: () => 0,
  close: async () => undefined,
};
