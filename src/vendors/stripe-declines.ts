/**
 * Declines after which another attempt with the same card can succeed, and why. Every other code is final:
 * the bank says so, gives no reason, or uses a code that is not known here, and card networks fine hopeless
 * attempts. Source: Stripe's list of decline codes.
 */
const MAY_PASS: Readonly<Record<string, string>> = {
  approve_with_id: 'the bank could not be reached for an approval',
  card_velocity_exceeded: 'a limit on payments in a day or an hour, which ends',
  insufficient_funds: 'the balance changes',
  issuer_not_available: 'the bank could not be reached',
  processing_error: 'the request failed on its way to the bank',
  reenter_transaction: 'the request failed on its way to the bank',
  try_again_later: 'the bank says so',
  withdrawal_count_limit_exceeded: 'a limit on payments, which ends',
  canceled: 'the payment was cancelled before the bank was asked',
};

/** Whether a new attempt can succeed after this decline. The bank's own advice decides, if there is one. */
export function mayPassLater(code: string, advice: string | null | undefined): boolean {
  if (advice === 'do_not_try_again') return false;
  if (advice === 'try_again_later') return true;
  return Object.hasOwn(MAY_PASS, code);
}
