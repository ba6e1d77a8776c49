import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { StripeEvent } from '../../src/payments/stripe-events.ts';
import { createStripeSignatures } from '../../src/payments/stripe-signature.ts';
import { startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';

export const SECRET = 'whsec_0123456789abcdef0123456789abcdef';

/** Stripe's stand-in for the running test, and the events that it has sent, verified and read. */
export async function openEvents() {
  const standIn = await startStripeStandIn({ ledgerFile: join(temporaryFolder(), 'stripe.jsonl') });
  onTestFinished(() => standIn.close());
  const signatures = createStripeSignatures([SECRET]);
  const events: StripeEvent[] = [];
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const event = signatures.verify(Buffer.concat(chunks), String(request.headers['stripe-signature']));
      if (event) events.push(event);
      response.writeHead(event ? 200 : 401).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void receiver.close());
  const { port } = receiver.address() as AddressInfo;
  standIn.sendEventsTo({ url: () => `http://127.0.0.1:${port}/`, secret: SECRET, all: true });
  return {
    standIn,
    /** The events since the last call. */
    async taken(): Promise<StripeEvent[]> {
      await expect.poll(() => standIn.events().pending, { interval: 5 }).toBe(0);
      return events.splice(0);
    },
  };
}
