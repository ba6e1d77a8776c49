import { validateRequest } from 'twilio/lib/webhooks/webhooks.js';
import { TEXT_KINDS, type TextKind } from '../domain/customer-text.ts';
import { isId } from '../domain/ids.ts';
import { isPhone } from '../domain/phone.ts';

/** Most parameters of a callback of Twilio. One with ten pictures has under 60. */
export const MAX_TWILIO_PARAMETERS = 100;

/** The addresses of this service that Twilio calls. */
export const TWILIO_STATUS_PATH = '/twilio/status';
export const TWILIO_INBOUND_PATH = '/twilio/inbound';

/**
 * Has Twilio repeat a call that was not taken up to five times, within 15 s (its "connection overrides"). The
 * fragment is an order to Twilio and no part of the request.
 */
export const RETRIES = '#rc=5&rp=ct,rt,5xx';

/** The address to be called with what becomes of a text. It names the text, as its `sid` may not be known yet. */
export function statusUrlOf(baseUrl: string, orderId: string, kind: TextKind): string {
  return `${baseUrl}${TWILIO_STATUS_PATH}?order=${orderId}&kind=${kind}`;
}

/** The parameters of a call of Twilio, each of which comes once. */
export type TwilioForm = Readonly<Record<string, string>>;

/** Reads a form; null where a name comes twice or there are too many, which no call of Twilio has. */
export function readTwilioForm(body: Buffer): TwilioForm | null {
  const form: Record<string, string> = Object.create(null);
  let count = 0;
  for (const [name, value] of new URLSearchParams(body.toString('utf8'))) {
    count++;
    if (count > MAX_TWILIO_PARAMETERS || name in form) return null;
    form[name] = value;
  }
  return form;
}

/** Whether a header can be a signature: SHA-1 in base64. */
export const isSignatureForm = (header: string | undefined): header is string =>
  header !== undefined && /^[A-Za-z0-9+/]{27}=$/.test(header);

/**
 * Whether Twilio signed a call of one of these addresses, which are all this service's. Whether it signs the
 * fragment with its orders is not documented, so both count.
 */
export function isSignedByTwilio(
  authToken: string,
  signature: string,
  urls: readonly string[],
  form: TwilioForm,
): boolean {
  return urls.some((url) => [url, url + RETRIES].some((each) => validateRequest(authToken, signature, each, form)));
}

/**
 * Carriers took no text of this sender, whoever it was for: an operator mends it, and the text is kept. 30002: the
 * account is suspended. 30024: the number is not provisioned at that carrier. 30032, 30034 and 30035: it is not
 * verified or registered, or this is not done yet. 30033: its campaign is suspended. 30001 and 30022: it sends faster
 * than its queue or its campaign allows. 30023 and 30027: it has sent as much as a carrier takes in a day.
 */
const SENDER_REFUSED: ReadonlySet<string> = new Set(
  '30001 30002 30022 30023 30024 30027 30032 30033 30034 30035'.split(' '),
);
export const isSenderRefusal = (code: string | number): boolean => SENDER_REFUSED.has(String(code));

/** What Twilio says became of a text; null for a status that says nothing new, and for what is none. */
export function readStatus(query: URLSearchParams, form: TwilioForm) {
  const orderId = query.get('order') ?? '';
  const kind = TEXT_KINDS.find((each) => each === query.get('kind'));
  const { MessageSid: sid = '', MessageStatus: said = '', ErrorCode: code = '', From: from = '' } = form;
  const status = STATUSES.get(said);
  if (!isId(orderId) || kind === undefined || status === undefined || !/^\w{1,64}$/.test(sid)) return null;
  const sender = /^\+?\d{1,15}$/.exec(from)?.[0] ?? null;
  if (status !== 'undelivered') return { orderId, kind, sid, status, failureCode: null, sender };
  const failureCode = /^\d{1,10}$/.exec(code)?.[0] ?? 'unknown';
  const isOfSender = isSenderRefusal(code);
  return { orderId, kind, sid, status: isOfSender ? ('sender_refused' as const) : status, failureCode, sender };
}

/** Twilio's words. `queued` and `sending` prove that it took the text, and so does all that follows. */
const STATUSES: ReadonlyMap<string, 'sent' | 'delivered' | 'undelivered'> = new Map([
  ['accepted', 'sent'],
  ['queued', 'sent'],
  ['sending', 'sent'],
  ['sent', 'sent'],
  ['delivered', 'delivered'],
  ['read', 'delivered'],
  ['undelivered', 'undelivered'],
  ['failed', 'undelivered'],
]);

/** The words by which Twilio itself stops texts to a phone; the last two since 2025. */
const STOP: ReadonlySet<string> = new Set([
  'STOP',
  'STOPALL',
  'UNSUBSCRIBE',
  'CANCEL',
  'END',
  'QUIT',
  'OPTOUT',
  'REVOKE',
]);
const START: ReadonlySet<string> = new Set(['START', 'YES', 'UNSTOP']);

/**
 * Whether a customer's message asks for no texts, or for texts again; null for any other message.
 * `OptOutType` is what Advanced Opt-Out made of it, and stands above the words.
 */
export function readOptOut(form: TwilioForm): { phone: string; optedOut: boolean; sid: string } | null {
  const { From: phone = '', Body: body = '', OptOutType: type, MessageSid: sid = '' } = form;
  if (!isPhone(phone) || !/^\w{1,64}$/.test(sid)) return null;
  const word = (type ?? body).trim().toUpperCase();
  if (STOP.has(word)) return { phone, optedOut: true, sid };
  return START.has(word) ? { phone, optedOut: false, sid } : null;
}
