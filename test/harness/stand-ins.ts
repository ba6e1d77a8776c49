import { join } from 'node:path';
import { createStripeCharger } from '../../src/payments/stripe.ts';
import type { FaultOrder } from '../../src/sandbox/faults.ts';
import { startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { startTwilioStandIn } from '../../src/sandbox/twilio-stand-in.ts';
import { createTwilioSender, type TwilioOptions } from '../../src/texts/twilio.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';
import { closedAfterTest } from './closed-after-test.ts';
import { STEP_MS } from './patience.ts';
import { SENDER } from './vendor-rows.ts';

type StripeOptions = Partial<Parameters<typeof startStripeStandIn>[0]>;
type TwilioStandInOptions = Partial<Parameters<typeof startTwilioStandIn>[0]>;

/** Stripe's stand-in for the running test, with these faults. */
export async function stripeStandIn(options: StripeOptions = {}, faults: FaultOrder = {}) {
  const ledgerFile = join(temporaryFolder(), 'stripe.jsonl');
  const standIn = closedAfterTest(await startStripeStandIn({ ledgerFile, ...options }));
  standIn.orderFaults(faults);
  return standIn;
}

/** What charges by such a stand-in. */
export function chargerOf(apiBase: string, options: { secretKey?: string; timeoutMs?: number } = {}) {
  return closedAfterTest(createStripeCharger({ secretKey: 'sk_test_1', apiBase, timeoutMs: STEP_MS, ...options }));
}

/** Twilio's stand-in for the running test, with these faults. */
export async function twilioStandIn(options: TwilioStandInOptions = {}, faults: FaultOrder = {}) {
  const ledgerFile = join(temporaryFolder(), 'twilio.jsonl');
  const standIn = closedAfterTest(await startTwilioStandIn({ ledgerFile, ...options }));
  standIn.orderFaults(faults);
  return standIn;
}

/** What texts by such a stand-in. */
export function textSenderOf(apiBase: string, options: Partial<TwilioOptions> = {}) {
  const account = { accountSid: `AC${'0'.repeat(32)}`, authToken: 'sandbox', from: SENDER };
  return closedAfterTest(createTwilioSender({ ...account, apiBase, timeoutMs: STEP_MS, ...options }));
}
