/**
 * Time after which a charge is tried again that a bank declined for want of funds or by a limit, where neither it
 * nor the network names another. The last of MAX_PAYMENT_ATTEMPTS is a day later, when a limit of a day has ended.
 */
export const DECLINE_PAUSE_SECONDS = 12 * 3_600;

/** What Stripe says of a decline: its own code, the bank's advice, and the card network's. */
export type Decline = {
  readonly code: string;
  readonly advice?: string | null | undefined;
  readonly networkAdvice?: string | null | undefined;
};

/** Declines without a bank's answer, and why another attempt can succeed within seconds. */
const PASSES_SOON: Readonly<Record<string, string>> = {
  approve_with_id: 'the bank could not be reached for an approval',
  issuer_not_available: 'the bank could not be reached',
  processing_error: 'the request failed on its way to the bank',
  reenter_transaction: 'the request failed on its way to the bank',
  canceled: 'the payment was cancelled before the bank was asked',
};

/** The code of a charge that Stripe refuses for the sake of the operator's account. */
export const ACCOUNT_REFUSED = 'account_refused';
/** Stripe refuses by itself a card that had too many declines in 24 hours. */
const CARD_REFUSED = 'card_decline_rate_limit_exceeded';

/** Codes of charges that no network counts, since no bank has declined them. */
export const UNCOUNTED_DECLINES: readonly string[] = [
  ...Object.keys(PASSES_SOON),
  'never_arrived',
  'card_declined_too_often',
  ACCOUNT_REFUSED,
  CARD_REFUSED,
];

/** Declines by a bank that may decide otherwise hours later, and why. Source: Stripe's list of decline codes. */
const PASSES_LATER: Readonly<Record<string, string>> = {
  card_velocity_exceeded: 'a limit on payments in a day or an hour, which ends',
  insufficient_funds: 'the balance changes',
  try_again_later: 'the bank says so',
  withdrawal_count_limit_exceeded: 'a limit on payments, which ends',
};

const HOUR = 3_600;
const DAY = 24 * HOUR;
/** Pauses that the networks ask for, in seconds. Visa's and Mastercard's 02 says "later". */
const NETWORK_PAUSES: Readonly<Record<string, number>> = {
  '02': DECLINE_PAUSE_SECONDS,
  '24': HOUR,
  '25': DAY,
  '26': 2 * DAY,
  '27': 4 * DAY,
  '28': 6 * DAY,
  '29': 8 * DAY,
  '30': 10 * DAY,
};
/** Never, or not before the card's data are other ones: by both networks, and when a holder has cancelled. */
const NETWORK_REFUSALS = ['01', '03', '21'];
const ADVICE_AGAINST = ['do_not_try_again', 'confirm_card_data'];

/**
 * Seconds after which a new attempt with the same card can succeed: 0 at once, null never. Every code that is
 * not known is final: card networks fine hopeless attempts. Whoever forbids one is heard before whoever allows
 * one, and who names a time before who names none.
 */
export function retryAfterSeconds({ code, advice, networkAdvice }: Decline): number | null {
  if (ADVICE_AGAINST.includes(advice ?? '') || NETWORK_REFUSALS.includes(networkAdvice ?? '')) return null;
  const asked = NETWORK_PAUSES[networkAdvice ?? ''];
  if (asked !== undefined) return asked;
  if (code === CARD_REFUSED) return DAY;
  if (Object.hasOwn(PASSES_SOON, code)) return 0;
  return Object.hasOwn(PASSES_LATER, code) || advice === 'try_again_later' ? DECLINE_PAUSE_SECONDS : null;
}
