import { randomBytes } from 'node:crypto';
import type { StandInReply, StandInRequest } from './stand-in.ts';

/** A message that was created. */
export type Message = {
  readonly sid: string;
  readonly accountSid: string;
  readonly to: string;
  readonly from: string;
  readonly body: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
};

/** What a customer answers, and what Advanced Opt-Out makes of it. */
export type Answer = { readonly from: string; readonly body: string; readonly optOutType?: string };

export const newSid = (): string => `SM${randomBytes(16).toString('hex')}`;

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
  try {
    const { from, body } = JSON.parse(json) as { from?: unknown; body?: unknown };
    return typeof from === 'string' && typeof body === 'string' ? { from, body } : null;
  } catch {
    return null;
  }
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

/** A message in Twilio's form, with times in whole seconds. */
export function messageBody({ sid, accountSid, to, from, body, atMs }: Message) {
  const date = new Date(atMs).toUTCString().replace('GMT', '+0000');
  return {
    sid,
    account_sid: accountSid,
    api_version: '2010-04-01',
    body,
    date_created: date,
    date_sent: date,
    date_updated: date,
    direction: 'outbound-api',
    error_code: null,
    error_message: null,
    from,
    messaging_service_sid: null,
    num_media: '0',
    num_segments: '1',
    price: null,
    price_unit: 'USD',
    status: 'sent',
    subresource_uris: {},
    to,
    uri: `/2010-04-01/Accounts/${accountSid}/Messages/${sid}.json`,
  };
}

export function refusal(status: number, code: number, message: string): StandInReply {
  return { status, body: { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status } };
}
