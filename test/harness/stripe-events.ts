import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';
import type { StripeEvent } from '../../src/payments/stripe-events.ts';
import { createStripeSignatures } from '../../src/payments/stripe-signature.ts';
import { listenInTest } from './closed-after-test.ts';
import { stripeStandIn } from './stand-ins.ts';

export const SECRET = 'whsec_0123456789abcdef0123456789abcdef';

/**
 * Stripe's stand-in for the running test, and the events that it has sent, verified and read. They are answered
 * with these statuses in turn, and then with the last one.
 */
export async function openEvents(
  options: { all?: boolean; copies?: () => number } = { all: true },
  statuses: readonly number[] = [200],
) {
  const standIn = await stripeStandIn();
  const signatures = createStripeSignatures([SECRET]);
  const events: StripeEvent[] = [];
  const receiver = createServer((request, response) => {
    const heard = (body: Buffer) => {
      const event = signatures.verify(body, String(request.headers['stripe-signature']));
      if (event) events.push(event);
      response.writeHead(event ? (statuses[events.length - 1] ?? statuses.at(-1) ?? 500) : 401).end();
    };
    void buffer(request).then(heard, () => undefined);
  });
  const { url } = await listenInTest(receiver);
  standIn.sendEventsTo({ url: () => url, secret: SECRET, ...options });
  const untilQuiet = () => expect.poll(() => standIn.events().pending, { interval: 5 }).toBe(0);
  return {
    standIn,
    events,
    untilQuiet,
    /** The events since the last call. */
    async taken(): Promise<StripeEvent[]> {
      await untilQuiet();
      return events.splice(0);
    },
  };
}
