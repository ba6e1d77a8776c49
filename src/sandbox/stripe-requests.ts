import type { StandInReply } from './stand-in.ts';

/** The fields of a payment that Stripe knows, of those that this service could send. */
const KNOWN_FIELDS =
  /^(amount|currency|customer|payment_method|off_session|confirm|description|allowed_payment_method_types\[\d*\]|metadata\[\w+\])$/;

/** Stripe's refusal of a payment's form; undefined where Stripe accepts it. */
export function checkPayment(form: URLSearchParams): StandInReply | undefined {
  for (const field of form.keys()) {
    if (field.startsWith('payment_method_types')) {
      const code = 'payment_method_types_no_longer_supported';
      return refusal(400, 'invalid_request_error', 'payment_method_types cannot be written', { code });
    }
    if (!KNOWN_FIELDS.test(field)) {
      const more = { code: 'parameter_unknown', param: field };
      return refusal(400, 'invalid_request_error', `Received unknown parameter: ${field}`, more);
    }
  }
  for (const param of ['amount', 'currency', 'customer', 'payment_method']) {
    if (form.get(param)) continue;
    return refusal(400, 'invalid_request_error', `Missing required param: ${param}.`, {
      code: 'parameter_missing',
      param,
    });
  }
  const amount = Number(form.get('amount'));
  if (!Number.isInteger(amount)) {
    return refusal(400, 'invalid_request_error', 'Invalid integer', {
      code: 'parameter_invalid_integer',
      param: 'amount',
    });
  }
  if (amount < 50) {
    return refusal(400, 'invalid_request_error', 'Amount is too small', { code: 'amount_too_small', param: 'amount' });
  }
  if (form.get('confirm') !== 'true' || form.get('off_session') !== 'true') {
    return refusal(400, 'invalid_request_error', 'The stand-in takes only confirmed off-session payments.');
  }
  const customer = form.get('customer') as string;
  if (!customer.startsWith('cus_') || customer.includes('missing'))
    return missing(400, 'customer', customer, 'customer');
  return undefined;
}

/** The fields of a page of Checkout in setup mode. */
const KNOWN_SESSION_FIELDS =
  /^(mode|customer|success_url|cancel_url|allowed_payment_method_types\[\d*\]|metadata\[\w+\])$/;

/** Stripe's refusal of a page's form; undefined where Stripe accepts it. */
export function checkSession(form: URLSearchParams): StandInReply | undefined {
  for (const field of form.keys()) {
    if (KNOWN_SESSION_FIELDS.test(field)) continue;
    const more = { code: 'parameter_unknown', param: field };
    return refusal(400, 'invalid_request_error', `Received unknown parameter: ${field}`, more);
  }
  for (const param of ['customer', 'success_url', 'cancel_url']) {
    if (form.get(param)) continue;
    const more = { code: 'parameter_missing', param };
    return refusal(400, 'invalid_request_error', `Missing required param: ${param}.`, more);
  }
  if (form.get('mode') !== 'setup') {
    return refusal(400, 'invalid_request_error', 'The stand-in makes only pages in setup mode.');
  }
  const customer = form.get('customer') as string;
  return customer.startsWith('cus_') && !customer.includes('missing')
    ? undefined
    : missing(400, 'customer', customer, 'customer');
}

export function metadataOf(form: URLSearchParams): Record<string, string> {
  const pairs = [...form].flatMap(([field, value]) => {
    const [, name] = /^metadata\[(\w+)\]$/.exec(field) ?? [];
    return name === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(pairs);
}

/** An error in Stripe's form. */
export function refusal(
  status: number,
  type: string,
  message: string,
  more: { code?: string; param?: string } = {},
): StandInReply {
  return { status, body: { error: { type, message, ...more } } };
}

/** Stripe's error for an unknown object: 404 where the path names it, 400 where a field does. */
export function missing(status: 400 | 404, what: string, id: string, param: string): StandInReply {
  return refusal(status, 'invalid_request_error', `No such ${what}: '${id}'`, { code: 'resource_missing', param });
}
