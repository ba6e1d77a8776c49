/**
 * Runs the stand-ins for Stripe and Twilio in a process of their own, so that their work is not counted as
 * the service's.
 */
import { join } from 'node:path';
import { startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { startTwilioStandIn } from '../../src/sandbox/twilio-stand-in.ts';

const ledger = (name: string): string => join(process.env.LEDGERS as string, name);
const stripe = await startStripeStandIn({ ledgerFile: ledger(`stripe-${process.pid}.jsonl`) });
const twilio = await startTwilioStandIn({ ledgerFile: ledger(`twilio-${process.pid}.jsonl`) });

process.once('SIGTERM', () => {
  void Promise.all([stripe.close(), twilio.close()]).finally(() => process.exit(0));
});
console.log(`ready ${stripe.url} ${twilio.url}`);
