import type { StandInReply } from './stand-in.ts';

/** The fields of a payment that Stripe knows, of those that this service could send. */
const KNOWN_FIELDS =
  /^(amount|currency|customer|payment_method|off_session|confirm|description|allowed_payment_method_types\[\d*\]|metadata\[\w+\])$/;

/** Stripe's refusal of a payment's form; undefined where Stripe accepts it. */
export function checkPayment(form: URLSearchParams): StandInReply | undefined {
  const wrong = checkFields(form, KNOWN_FIELDS, ['amount', 'currency', 'customer', 'payment_method']);
  if (wrong) return wrong;
  const amount = Number(form.get('amount'));
  if (!Number.isInteger(amount)) return invalid('Invalid integer', 'parameter_invalid_integer', 'amount');
  if (amount < 50) return invalid('Amount is too small', 'amount_too_small', 'amount');
  if (form.get('confirm') !== 'true' || form.get('off_session') !== 'true') {
    return invalid('The stand-in takes only confirmed off-session payments.');
  }
  return checkCustomer(form);
}

/** The fields of a page of Checkout in setup mode. */
const KNOWN_SESSION_FIELDS =
  /^(mode|customer|success_url|cancel_url|allowed_payment_method_types\[\d*\]|metadata\[\w+\])$/;

/** Stripe's refusal of a page's form; undefined where Stripe accepts it. */
export function checkSession(form: URLSearchParams): StandInReply | undefined {
  const wrong = checkFields(form, KNOWN_SESSION_FIELDS, ['customer', 'success_url', 'cancel_url']);
  if (wrong) return wrong;
  if (form.get('mode') !== 'setup') return invalid('The stand-in makes only pages in setup mode.');
  return checkCustomer(form);
}

function checkFields(form: URLSearchParams, known: RegExp, required: readonly string[]): StandInReply | undefined {
  for (const field of form.keys()) {
    if (known.test(field)) continue;
    if (field.startsWith('payment_method_types')) {
      return invalid('payment_method_types cannot be written', 'payment_method_types_no_longer_supported');
    }
    return invalid(`Received unknown parameter: ${field}`, 'parameter_unknown', field);
  }
  const lacking = required.find((param) => !form.get(param));
  return lacking === undefined
    ? undefined
    : invalid(`Missing required param: ${lacking}.`, 'parameter_missing', lacking);
}

function checkCustomer(form: URLSearchParams): StandInReply | undefined {
  const customer = form.get('customer') as string;
  const isKnown = customer.startsWith('cus_') && !customer.includes('missing');
  return isKnown ? undefined : missing(400, 'customer', customer, 'customer');
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
  more: { code?: string | undefined; param?: string | undefined } = {},
): StandInReply {
  return { status, body: { error: { type, message, ...more } } };
}

/** Stripe's error for a request that it does not take. */
export function invalid(message: string, code?: string, param?: string): StandInReply {
  return refusal(400, 'invalid_request_error', message, { code, param });
}

/** Stripe's error for an unknown object: 404 where the path names it, 400 where a field does. */
export function missing(status: 400 | 404, what: string, id: string, param: string): StandInReply {
  return refusal(status, 'invalid_request_error', `No such ${what}: '${id}'`, { code: 'resource_missing', param });
}
