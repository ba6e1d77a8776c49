import type { Random } from '../../../bench/support/world.ts';
import type { Fault } from '../../../src/sandbox/faults.ts';
import { any, underLoad } from '../row.ts';
import { later } from '../world.ts';

const FAULTS: readonly Fault[] = [
  { kind: 'delay', ms: 2_000 },
  { kind: 'reset', effect: 'before' },
  { kind: 'reset', effect: 'after' },
  { kind: 'status', status: 500, effect: 'before', sticky: false },
  { kind: 'status', status: 500, effect: 'after', sticky: false },
  { kind: 'status', status: 502, effect: 'before', sticky: false },
  { kind: 'rate_limit' },
];
const NO_FAULT: Fault = { kind: 'delay', ms: 0 };
const REQUESTS = 200;

/** Of the vendor's next requests three in ten go wrong. */
const badRequests = (random: Random): Fault[] =>
  Array.from({ length: REQUESTS }, () => (random() < 0.3 ? any(FAULTS, random) : NO_FAULT));

export const stripeFaults = underLoad({
  name: 'stripe',
  what: 'a second in which three of ten requests to Stripe go wrong',
  count: 80,
  async inject({ stripe }, random) {
    stripe.orderFaults({ next: badRequests(random) });
    await later(500);
  },
});

export const twilioFaults = underLoad({
  name: 'twilio',
  what: 'a second in which three of ten requests to Twilio go wrong, before they take effect',
  count: 80,
  async inject({ twilio }, random) {
    twilio.orderFaults({ next: badRequests(random) });
    await later(500);
  },
});
