import type Stripe from 'stripe';

/*
 * What Stripe's objects hold beside what the stand-in knows, as they are where nothing of it was set. The types of
 * Stripe's SDK name every property, and the compiler finds one that is missing.
 */

type Words<Line extends string> = Line extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Line;

/** Properties that are null, by their names with spaces between. */
const nulls = <Line extends string>(...lines: readonly Line[]) =>
  Object.fromEntries(lines.flatMap((line) => line.split(' ')).map((word) => [word, null])) as Record<Words<Line>, null>;

export const WHOLE_INTENT = {
  object: 'payment_intent',
  ...nulls(
    'application application_fee_amount automatic_payment_methods canceled_at cancellation_reason customer_account',
    'description excluded_payment_method_types managed_payments next_action on_behalf_of',
    'payment_method_configuration_details payment_record processing receipt_email review setup_future_usage shipping',
    'source statement_descriptor statement_descriptor_suffix transfer_data transfer_group',
  ),
  allowed_payment_method_types: ['card'],
  amount_capturable: 0,
  amount_details: { tip: {} },
  capture_method: 'automatic_async',
  confirmation_method: 'automatic',
  livemode: false,
  payment_method_options: {
    card: { installments: null, mandate_options: null, network: null, request_three_d_secure: 'automatic' },
  },
  payment_method_types: ['card'],
} satisfies Partial<Stripe.PaymentIntent>;

const NO_BILLING = { address: null, email: null, name: null, phone: null, tax_id: null };

export const WHOLE_CHARGE = {
  object: 'charge',
  ...nulls(
    'application application_fee application_fee_amount balance_transaction description failure_balance_transaction',
    'failure_code failure_message on_behalf_of payment_method_details receipt_email receipt_number receipt_url review',
    'shipping source source_transfer statement_descriptor statement_descriptor_suffix transfer_data transfer_group',
  ),
  billing_details: NO_BILLING,
  calculated_statement_descriptor: 'SAMEDAY',
  captured: true,
  disputed: false,
  fraud_details: {},
  livemode: false,
  outcome: {
    ...nulls('advice_code network_advice_code network_decline_code reason'),
    network_status: 'approved_by_network',
    seller_message: 'Payment complete.',
    type: 'authorized',
  },
  paid: true,
  status: 'succeeded',
} satisfies Partial<Stripe.Charge>;

export const WHOLE_REFUND = {
  object: 'refund',
  ...nulls(
    'balance_transaction customer_account payment_method reason receipt_number source_transfer_reversal',
    'transfer_reversal',
  ),
  currency: 'usd',
  metadata: {},
} satisfies Partial<Stripe.Refund>;

export const WHOLE_DISPUTE = {
  object: 'dispute',
  balance_transactions: [],
  currency: 'usd',
  enhanced_eligibility_types: [],
  evidence: {
    ...nulls(
      'access_activity_log billing_address cancellation_policy cancellation_policy_disclosure cancellation_rebuttal',
      'customer_communication customer_email_address customer_name customer_purchase_ip customer_signature',
      'duplicate_charge_documentation duplicate_charge_explanation duplicate_charge_id product_description receipt',
      'refund_policy refund_policy_disclosure refund_refusal_explanation service_date service_documentation',
      'shipping_address shipping_carrier shipping_date shipping_documentation shipping_tracking_number',
      'uncategorized_file uncategorized_text',
    ),
    enhanced_evidence: {},
  },
  evidence_details: {
    due_by: null,
    enhanced_eligibility: {},
    has_evidence: false,
    past_due: false,
    submission_count: 0,
    submission_method: 'not_submitted',
  },
  intended_submission_method: null,
  livemode: false,
  metadata: {},
  reason: 'fraudulent',
} satisfies Partial<Stripe.Dispute>;

export const WHOLE_CARD = {
  object: 'payment_method',
  billing_details: NO_BILLING,
  card: {
    ...nulls('checks generated_from networks regulated_status wallet'),
    brand: 'visa',
    country: 'US',
    display_brand: 'visa',
    exp_month: 12,
    exp_year: 2039,
    funding: 'credit',
    last4: '4242',
    three_d_secure_usage: { supported: true },
  },
  created: 1_700_000_000,
  customer_account: null,
  livemode: false,
  metadata: {},
  type: 'card',
} satisfies Partial<Stripe.PaymentMethod>;

export const WHOLE_SETUP = {
  object: 'setup_intent',
  ...nulls(
    'application automatic_payment_methods cancellation_reason client_secret description excluded_payment_method_types',
    'last_setup_error latest_attempt mandate next_action on_behalf_of payment_method_configuration_details',
    'payment_method_options single_use_mandate',
  ),
  allowed_payment_method_types: ['card'],
  livemode: false,
  metadata: {},
  payment_method_types: ['card'],
  usage: 'off_session',
} satisfies Partial<Stripe.SetupIntent>;

export const WHOLE_CUSTOMER = {
  object: 'customer',
  ...nulls('default_source description email shipping'),
  balance: 0,
  invoice_settings: { custom_fields: null, default_payment_method: null, footer: null, rendering_options: null },
  livemode: false,
} satisfies Partial<Stripe.Customer>;

export const WHOLE_SESSION = {
  object: 'checkout.session',
  ...nulls(
    'adaptive_pricing after_expiration allow_promotion_codes amount_subtotal amount_total billing_address_collection',
    'client_reference_id client_secret collected_information consent consent_collection currency currency_conversion',
    'customer_account customer_creation customer_details customer_email discounts integration_identifier invoice',
    'invoice_creation locale managed_payments origin_context payment_intent payment_link payment_method_collection',
    'payment_method_configuration_details payment_method_options permissions recovered_from',
    'saved_payment_method_options shipping_address_collection shipping_cost submit_type subscription total_details',
    'ui_mode wallet_options',
  ),
  allowed_payment_method_types: ['card'],
  automatic_tax: { enabled: false, liability: null, provider: null, status: null },
  custom_fields: [],
  custom_text: { after_submit: null, shipping_address: null, submit: null, terms_of_service_acceptance: null },
  livemode: false,
  mode: 'setup',
  payment_method_types: ['card'],
  payment_status: 'no_payment_required',
  shipping_options: [],
} satisfies Partial<Stripe.Checkout.Session>;
