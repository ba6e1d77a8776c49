import type { OrderExtras } from '../../src/domain/order.ts';

/** What an order says beyond its contract, where it says nothing. */
export const NO_EXTRAS: OrderExtras = {
  externalId: null,
  metadata: {},
  items: [],
  pickupInstructions: null,
  dropoffInstructions: null,
  leaveAtDoor: false,
  readyAt: null,
  deliverAfter: null,
  deliverBy: null,
  size: 'small',
  scenario: null,
};
