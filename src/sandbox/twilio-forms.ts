import { createHash, randomUUID } from 'node:crypto';
import { segmentsOf } from '../domain/customer-text.ts';
import { parseJson, type StandInReply, type StandInRequest } from './stand-in.ts';

/** A message that was created. */
export type Message = {
  readonly sid: string;
  readonly accountSid: string;
  readonly to: string;
  readonly from: string;
  readonly body: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Seconds for which it may wait to be sent; the stand-in sends each at once. */
  readonly validityPeriod?: number;
};

/** What a customer answers, and what Advanced Opt-Out makes of it. */
export type Answer = { readonly from: string; readonly body: string; readonly optOutType?: string };

export const newSid = (): string => `SM${randomUUID().replaceAll('-', '')}`;

/** What Twilio calls with where a customer answers to the sender of a message. */
export function inboundForm({ accountSid, from: to }: Message, { from, body, optOutType }: Answer, sid: string) {
  return {
    AccountSid: accountSid,
    ApiVersion: '2010-04-01',
    Body: body,
    From: from,
    MessageSid: sid,
    NumMedia: '0',
    NumSegments: '1',
    SmsMessageSid: sid,
    SmsSid: sid,
    SmsStatus: 'received',
    To: to,
    ...(optOutType === undefined ? {} : { OptOutType: optOutType }),
  };
}

/** A message as JSON, `{"from": "+1…", "body": "STOP"}`; null where it is none. */
export function readAnswer(json: string): Answer | null {
  const { from, body } = (parseJson(json) ?? {}) as { from?: unknown; body?: unknown };
  return typeof from === 'string' && typeof body === 'string' ? { from, body } : null;
}

/** What came by `Authorization: Basic`; empty texts where it is anything else. */
export function credentials({ headers }: StandInRequest): { readonly user: string; readonly password: string } {
  const [scheme, given = ''] = (headers.authorization ?? '').split(' ');
  const [user = '', password = ''] = Buffer.from(given, 'base64').toString('utf8').split(':');
  return scheme === 'Basic' ? { user, password } : { user: '', password: '' };
}

/** What Twilio calls with where something became of a message. */
export function statusForm({ sid, accountSid, to, from }: Message, status: string, code: number | null) {
  return {
    AccountSid: accountSid,
    ApiVersion: '2010-04-01',
    From: from,
    MessageSid: sid,
    MessageStatus: status,
    SmsSid: sid,
    SmsStatus: status,
    To: to,
    ...(code === null ? {} : { ErrorCode: String(code) }),
  };
}

/** What a text became by this code; Twilio gives up one with a code of its own before a carrier sees it. */
export function endOf(code: number | null): 'delivered' | 'undelivered' | 'failed' {
  if (code === null) return 'delivered';
  return code === 30001 || code === 30002 ? 'failed' : 'undelivered';
}

/** Whether Twilio takes an address for its news: one of the web with a public name, or of this machine. */
export function isCallback(url: string): boolean {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' };
  return /^https?:$/.test(protocol) && (hostname.includes('.') || ['localhost', '[::1]'].includes(hostname));
}

/** The numbers of an account that match: the one that is asked for, as a stand-in has any. */
export function numbersBody(list: string, numbers: readonly string[], accountSid: string, atMs: number) {
  const date = dateOf(atMs);
  const common = {
    account_sid: accountSid,
    api_version: '2010-04-01',
    date_created: date,
    date_updated: date,
    sms_fallback_method: 'POST',
    sms_fallback_url: null,
    sms_method: 'POST',
    sms_url: null,
  };
  const bodyOf = (number: string) => {
    const sid = `${list === 'ShortCodes' ? 'SC' : 'PN'}${createHash('md5').update(number).digest('hex')}`;
    const uri = `/2010-04-01/Accounts/${accountSid}/${list}/${sid}.json`;
    const one = { ...common, sid, friendly_name: number, uri };
    return list === 'ShortCodes' ? { ...one, short_code: number } : { ...one, ...PHONE_NUMBER, phone_number: number };
  };
  const name = list === 'ShortCodes' ? 'short_codes' : 'incoming_phone_numbers';
  return { [name]: numbers.map(bodyOf), page: 0, page_size: 50, next_page_uri: null };
}

/** What Twilio says of a phone number beside of what it says of a short code, too. */
const PHONE_NUMBER = {
  address_sid: null,
  address_requirements: 'none',
  beta: false,
  bundle_sid: null,
  capabilities: { fax: false, mms: true, sms: true, voice: true },
  emergency_address_sid: null,
  emergency_address_status: 'unregistered',
  emergency_status: 'Inactive',
  identity_sid: null,
  origin: 'twilio',
  sms_application_sid: '',
  status: 'in-use',
  status_callback: '',
  status_callback_method: 'POST',
  trunk_sid: null,
  type: 'local',
  voice_application_sid: '',
  voice_caller_id_lookup: false,
  voice_fallback_method: 'POST',
  voice_fallback_url: '',
  voice_method: 'POST',
  voice_receive_mode: 'voice',
  voice_url: '',
};

/** A time as Twilio writes it, in whole seconds. */
const dateOf = (atMs: number): string => new Date(atMs).toUTCString().replace('GMT', '+0000');

/** A page of messages, with the addresses of the others. */
export function messagesPage(
  messages: readonly Message[],
  codeOf: (message: Message) => number | null,
  { path, query }: Pick<StandInRequest, 'path' | 'query'>,
) {
  const size = Math.min(Number(query.get('PageSize') ?? 50), 1_000);
  const page = Number(query.get('Page') ?? 0);
  const [start, end] = [page * size, Math.min((page + 1) * size, messages.length)];
  const uriOf = (other: number) => {
    const search = new URLSearchParams(query);
    search.set('Page', String(other));
    return `${path}?${search}`;
  };
  return {
    messages: messages.slice(start, end).map((message) => messageBody(message, codeOf(message))),
    page,
    page_size: size,
    start,
    end: Math.max(start, end - 1),
    uri: uriOf(page),
    first_page_uri: uriOf(0),
    previous_page_uri: page > 0 ? uriOf(page - 1) : null,
    next_page_uri: end < messages.length ? uriOf(page + 1) : null,
  };
}

/** A message in Twilio's form, with the code of what became of it. */
export function messageBody({ sid, accountSid, to, from, body, atMs }: Message, code: number | null) {
  const date = dateOf(atMs);
  return {
    sid,
    account_sid: accountSid,
    api_version: '2010-04-01',
    body,
    date_created: date,
    date_sent: date,
    date_updated: date,
    direction: 'outbound-api',
    error_code: code,
    error_message: code === null ? null : 'not delivered',
    from,
    messaging_service_sid: null,
    num_media: '0',
    num_segments: String(segmentsOf(body)),
    price: null,
    price_unit: 'USD',
    status: endOf(code),
    subresource_uris: {},
    to,
    uri: `/2010-04-01/Accounts/${accountSid}/Messages/${sid}.json`,
  };
}

export function refusal(status: number, code: number, message: string): StandInReply {
  return { status, body: { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status } };
}
