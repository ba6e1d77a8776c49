import { randomBytes } from 'node:crypto';
import { type Ledger, openLedger } from './ledger.ts';
import {
  LatestRecords,
  type StandIn,
  type StandInReply,
  type StandInRequest,
  startStandIn,
  type VendorApi,
} from './stand-in.ts';

type Message = {
  readonly sid: string;
  readonly accountSid: string;
  readonly to: string;
  readonly from: string;
  readonly body: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
};

/** Twilio's magic numbers, to which a text fails as it can to real numbers. */
const REFUSED: Readonly<Record<string, readonly [code: number, message: string]>> = {
  '+15005550001': [21211, 'The number is not a valid phone number.'],
  '+15005550002': [21612, 'The number cannot be reached from this sender.'],
  '+15005550003': [21408, 'Permission to send an SMS has not been enabled for the region.'],
  '+15005550004': [21610, 'The recipient has unsubscribed.'],
  '+15005550009': [21614, 'The number cannot receive SMS.'],
};

/**
 * Starts the part of Twilio's API that this service uses, with its record in `ledgerFile`: create a message,
 * list messages by `To` and `DateSent>`. Creating is not idempotent, as at Twilio. Nobody is texted.
 * `authToken` is the only token that is accepted; without it any token is. Faults and ledger: see
 * stand-in.ts.
 */
export async function startTwilioStandIn(options: {
  ledgerFile: string;
  port?: number;
  authToken?: string;
  /** Most messages that it remembers; MAX_STAND_IN_RECORDS by default. */
  maxRecords?: number;
}): Promise<StandIn> {
  return startStandIn(new TwilioApi(options), options.port ?? 0);
}

class TwilioApi implements VendorApi {
  readonly #ledger: Ledger<Message>;
  readonly #messages: LatestRecords<Message>;
  readonly #authToken: string | undefined;

  constructor({ ledgerFile, authToken, maxRecords }: Parameters<typeof startTwilioStandIn>[0]) {
    this.#messages = new LatestRecords(maxRecords);
    this.#ledger = openLedger<Message>(ledgerFile, (message) => this.#messages.set(message.sid, message));
    this.#authToken = authToken;
  }

  async answer(request: StandInRequest, pause: () => Promise<void>): Promise<StandInReply> {
    await pause();
    const [, accountSid] = /^\/2010-04-01\/Accounts\/(AC\w+)\/Messages\.json$/.exec(request.path) ?? [];
    if (!accountSid) return refusal(404, 20404, 'The requested resource was not found');
    if (!this.#isAuthentic(request, accountSid)) return refusal(401, 20003, 'Authenticate');
    if (request.method === 'POST') return this.#create(request, accountSid);
    if (request.method === 'GET') return this.#list(request, accountSid);
    return refusal(405, 20004, 'Method not allowed');
  }

  failure(status: number): StandInReply {
    if (status === 429) return refusal(429, 20429, 'Too Many Requests');
    return refusal(status, 20500, 'An internal server error has occurred');
  }

  /** Twilio has no idempotency keys, so no failure repeats. */
  repeat(): void {}

  entries(): readonly Message[] {
    return [...this.#messages.values()];
  }

  close(): void {
    this.#ledger.close();
  }

  #isAuthentic({ headers }: StandInRequest, accountSid: string): boolean {
    const [scheme, given = ''] = (headers.authorization ?? '').split(' ');
    const [user, password = ''] = Buffer.from(given, 'base64').toString('utf8').split(':');
    if (scheme !== 'Basic' || user !== accountSid || password === '') return false;
    return this.#authToken === undefined || password === this.#authToken;
  }

  #create(request: StandInRequest, accountSid: string): StandInReply {
    const form = new URLSearchParams(request.body);
    const to = form.get('To') ?? '';
    const from = form.get('From') ?? '';
    const body = form.get('Body') ?? '';
    if (to === '') return refusal(400, 21604, "A 'To' phone number is required.");
    if (from === '') return refusal(400, 21603, "A 'From' phone number is required.");
    if (body === '') return refusal(400, 21602, 'Message body is required.');
    if (body.length > 1_600) return refusal(400, 21617, 'The concatenated message body exceeds 1600 characters.');
    const refused = REFUSED[to];
    if (refused) return refusal(400, ...refused);
    if (!/^\+[1-9]\d{6,14}$/.test(to)) return refusal(400, 21211, 'The number is not a valid phone number.');
    const message: Message = {
      sid: `SM${randomBytes(16).toString('hex')}`,
      accountSid,
      to,
      from,
      body,
      atMs: Date.now(),
    };
    this.#ledger.append(message);
    this.#messages.set(message.sid, message);
    return { status: 201, body: { ...messageBody(message), status: 'queued', date_sent: null } };
  }

  #list({ query, path }: StandInRequest, accountSid: string): StandInReply {
    const to = query.get('To');
    const since = Date.parse(query.get('DateSent>') ?? '');
    const pageSize = Math.min(Number(query.get('PageSize') ?? 50), 1_000);
    const messages = this.entries()
      .filter((message) => message.accountSid === accountSid)
      .filter((message) => to === null || message.to === to)
      .filter((message) => Number.isNaN(since) || message.atMs >= since)
      .reverse()
      .slice(0, pageSize)
      .map(messageBody);
    return { status: 200, body: { messages, page: 0, page_size: pageSize, next_page_uri: null, uri: path } };
  }
}

/** A message in Twilio's form, with times in whole seconds. */
function messageBody({ sid, accountSid, to, from, body, atMs }: Message) {
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

function refusal(status: number, code: number, message: string): StandInReply {
  return { status, body: { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status } };
}
