/** Cards of the Stripe stand-in, under the names of Stripe's own test payment methods. */
export const TEST_CARDS = {
  ok: { customer: 'cus_sandbox', paymentMethod: 'pm_card_visa' },
  declined: { customer: 'cus_sandbox', paymentMethod: 'pm_card_chargeDeclined' },
  'needs-auth': { customer: 'cus_sandbox', paymentMethod: 'pm_card_authenticationRequired' },
} as const;
