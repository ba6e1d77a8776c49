import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { STRIPE_TIMEOUT_MS } from '../limits.ts';
import type { Charger } from '../payments/charger.ts';
import type { Closers } from '../runtime/closers.ts';
import { startTwilioStandIn } from '../sandbox/twilio-stand-in.ts';
import type { TextSender } from '../texts/text-sender.ts';
import type { RequestHead } from '../transport/route.ts';

/** Longest call to Twilio. A message is accepted in well under a second. */
const TWILIO_TIMEOUT_MS = 10_000;

export type Vendors = { readonly stripe: Charger; readonly texts: TextSender };

/** Opens Stripe by its settings, and Twilio by its, or in the sandbox its stand-in, which speaks the same HTTP. */
export async function openVendors(config: Config, closers: Closers): Promise<Vendors> {
  return { stripe: await openStripe(config.stripe, closers), texts: await openTwilio(config, closers) };
}

/** Charges and texts a second over all processes; 0 for no bound. */
export function vendorRates({ stripe, twilio }: Config): { readonly charges: number; readonly texts: number } {
  return { charges: stripe?.rate ?? 0, texts: twilio?.rate ?? 0 };
}

/** The SDKs are loaded here, because loading costs 150 ms and 22 MB each and the API role needs neither. */
export async function openStripe(settings: Config['stripe'], closers: Closers): Promise<Charger> {
  const { createStripeCharger } = await import('../payments/stripe.ts');
  if (!settings) throw new Error('a worker has Stripe or its stand-in');
  const stripe = createStripeCharger({ ...settings, timeoutMs: STRIPE_TIMEOUT_MS });
  closers.add('Stripe', () => stripe.close());
  return stripe;
}

/** Opens Twilio by its settings, or the stand-in. */
export async function openTwilio(config: Config, closers: Closers): Promise<TextSender> {
  const { createTwilioSender } = await import('../texts/twilio.ts');
  const settings = config.twilio ?? {
    ...SANDBOX_ACCOUNT,
    authToken: twilioToken(config),
    apiBase: await standInForTwilio(config, closers),
  };
  const twilio = createTwilioSender({ ...settings, timeoutMs: TWILIO_TIMEOUT_MS });
  closers.add('Twilio', () => twilio.close());
  return twilio;
}

/** With which Twilio signs its calls. */
export const twilioToken = (config: Config): string => config.twilio?.authToken ?? sandboxToken(config);

/**
 * The address at which Twilio reaches the API.
 *
 * @param ownUrl the API's address on this machine, at which the sandbox's stand-in reaches it; null where it
 *   is in another process
 */
export function twilioReaches(config: Config, ownUrl: string | null): string | null {
  const publicUrl = config.baseUrl ?? config.trackingUrl;
  return config.twilio ? publicUrl : (ownUrl ?? publicUrl);
}

/** The addresses under which Twilio may know the API. The sandbox's stand-in knows the one that it calls. */
export function twilioAddresses({ twilio, baseUrl, trackingUrl, tls }: Config): (head: RequestHead) => string[] {
  const known = [baseUrl, trackingUrl].filter((url) => url !== null);
  if (twilio) return () => known;
  return (head) => [...known, `${tls ? 'https' : 'http'}://${head.header('host')}`];
}

const SANDBOX_ACCOUNT = { accountSid: `AC${'0'.repeat(32)}`, from: '+15005550006' };
const TOKEN_OF_THIS_START = randomBytes(16).toString('hex');

/** Random, so that nobody else signs a STOP. An API and a worker that run apart share no more than their database. */
function sandboxToken({ roles, databaseUrl }: Pick<Config, 'roles' | 'databaseUrl'>): string {
  if (roles.size > 1 || !databaseUrl) return TOKEN_OF_THIS_START;
  return createHash('sha256').update(`Twilio's stand-in of ${databaseUrl}`).digest('hex');
}

async function standInForTwilio(config: Config, closers: Closers): Promise<string> {
  const ledgerFile = join(config.dataDir, 'twilio-ledger.jsonl');
  const standIn = await startTwilioStandIn({ ledgerFile, authToken: twilioToken(config) });
  closers.add('Twilio stand-in', () => standIn.close());
  return standIn.url;
}
