import { LOSS_REPORT_MS } from '../limits.ts';
import type { Vendor } from '../store/accounts/refused-credentials.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, type Logger } from '../telemetry.ts';
import type { Metrics } from './metrics.ts';

/** Time after which a process notes again whether a vendor takes the credentials, as others note it, too. */
export const VENDOR_NOTE_MS = 60_000;

/** The settings that an operator corrects where a vendor refuses the credentials. */
export const CREDENTIALS: Readonly<Record<Vendor, string>> = {
  stripe: 'STRIPE_SECRET_KEY',
  twilio: 'TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN, TWILIO_FROM',
  twilio_sender: 'TWILIO_FROM',
};

/** The settings that an operator compares where the signatures of a vendor's calls are not good. */
const SIGNED_BY: Readonly<Record<string, string>> = {
  stripe: 'STRIPE_WEBHOOK_SECRET',
  twilio: 'TWILIO_AUTH_TOKEN, BASE_URL',
};

/** `account_refused`: the vendor takes the credentials, and refuses the account what it may do with them. */
type Answer = { readonly kind: string; readonly reason?: string; readonly code?: string };
type Watch = <Args extends readonly unknown[], Answered extends Answer>(
  call: (...args: Args) => Promise<Answered>,
) => (...args: Args) => Promise<Answered>;

/**
 * Makes a function that watches the calls of a vendor: counts each by what became of it, and says that the vendor
 * refuses the credentials, in the log and in the database, where every process and the command line read it.
 */
export function watchVendor(
  vendor: Vendor,
  parts: { readonly store: Pick<Store, 'noteCredentials'>; readonly metrics: Pick<Metrics, 'observeVendor'> } & {
    readonly logger: Pick<Logger, 'error'>;
  },
  nowMs: () => number = () => performance.now(),
): Watch {
  const { store, metrics, logger } = parts;
  // What was noted last, and until when: another process, or the one before, may have noted otherwise.
  let noted = false;
  let holdsUntilMs = 0;
  const tell = atMostEvery(LOSS_REPORT_MS * 2, (code: string | undefined) =>
    logger.error(
      { vendor, settings: CREDENTIALS[vendor], code },
      'a vendor refuses the credentials; correct the settings',
    ),
  );
  // One after the other, so that the last one holds.
  let writing = Promise.resolve();
  function note(refused: boolean): void {
    // A refusal is noted at once, and while some calls are refused and some taken, it is what stays.
    if (nowMs() < holdsUntilMs && (noted || !refused)) return;
    noted = refused;
    holdsUntilMs = nowMs() + VENDOR_NOTE_MS;
    writing = writing
      .then(() => store.noteCredentials(vendor, refused))
      .catch(() => {
        holdsUntilMs = 0;
      });
  }
  return (call) =>
    async (...args) => {
      const answer = await call(...args);
      const { kind, reason = kind, code } = answer;
      const outcome = kind === 'account_refused' ? 'misconfigured' : kind === 'retry_later' ? reason : kind;
      metrics.observeVendor(vendor, outcome);
      if (outcome === 'misconfigured') {
        tell(code);
        note(true);
        // A call without a definite answer says nothing of the credentials.
      } else if (kind !== 'retry_later') note(false);
      return answer;
    };
}

/** Counts the calls that vendors make, and says of one with another signature by which settings it was judged. */
export function watchCallbacks(parts: {
  readonly metrics: Pick<Metrics, 'observeCallback'>;
  readonly logger: Pick<Logger, 'warn'>;
}): Metrics['observeCallback'] {
  const tell = atMostEvery(LOSS_REPORT_MS * 2, (vendor: string) =>
    parts.logger.warn({ vendor, settings: SIGNED_BY[vendor] }, 'a call of a vendor is not signed as the settings say'),
  );
  return (vendor, type, outcome) => {
    parts.metrics.observeCallback(vendor, type, outcome);
    if (outcome === 'unsigned') tell(vendor);
  };
}
