/**
 * Declines that another attempt with the same card can pass, and why. Every other code is final: the bank has said
 * that it will not change its mind, gives no reason, or we do not know the code, and card networks fine hopeless attempts.
 * Source: Stripe's list of decline codes.
 */
const MAY_PASS: Readonly<Record<string, string>> = {
  approve_with_id: 'the bank could not be reached to approve',
  card_velocity_exceeded: 'a limit on payments a day or hour, which ends',
  insufficient_funds: 'a balance changes',
  issuer_not_available: 'the bank could not be reached',
  processing_error: 'something broke on the way to the bank',
  reenter_transaction: 'something broke on the way to the bank',
  try_again_later: 'the bank says so',
  withdrawal_count_limit_exceeded: 'a limit on payments, which ends',
  canceled: 'the payment was given up before the bank was asked',
};

/** Whether a new attempt could pass after a decline with this code. The bank's own advice, where given, decides. */
export function mayPassLater(code: string, advice: string | null | undefined): boolean {
  if (advice === 'do_not_try_again') return false;
  if (advice === 'try_again_later') return true;
  return Object.hasOwn(MAY_PASS, code);
}
