import twilio from 'twilio';
import { createHttpExchange, ExchangeError, type ExchangeReply, type HttpExchange } from '../vendors/http-exchange.ts';
import { type RetryLater, retryLater } from '../vendors/retry-later.ts';
import { vendorWords } from '../vendors/vendor-words.ts';
import type { SendOutcome, TextLookup, TextSender } from './text-sender.ts';
import { isSenderRefusal, RETRIES } from './twilio-calls.ts';
import { type NewMessage, openMessageCall } from './twilio-message.ts';

/** Last messages of a phone that are searched for one that may have been sent. */
const MAX_MESSAGES_SEARCHED = 50;

/** Shortest time for which Twilio is told to keep a text. It advises more than 5. */
const MIN_VALIDITY_SECONDS = 10;
/** Longest time that Twilio takes. */
const MAX_VALIDITY_SECONDS = 36_000;

export type TwilioOptions = {
  readonly accountSid: string;
  readonly authToken: string;
  /** The sending number, E.164. */
  readonly from: string;
  /** Base URL of another server that speaks Twilio's API. */
  readonly apiBase?: string | null | undefined;
  readonly timeoutMs: number;
};

/** The queue of the sending number is full: a 4xx that passes by itself. */
const QUEUE_FULL = 21611;
/**
 * Twilio refuses the sender or the account, not the recipient: an operator mends it, and the text is kept.
 * 10001, 20005 and 90010: the account is not active. 20404: there is no such account. 21212 and 21603: the
 * sender is no number. 21606, 21659, 21660 and 21661: the account has no such number, or it sends no texts.
 */
const SENDER_REFUSED: ReadonlySet<unknown> = new Set([
  10001, 20003, 20005, 20404, 21212, 21603, 21606, 21659, 21660, 21661, 90010,
]);
/** Twilio takes no status callback to this address, such as one that is not public. */
const BAD_STATUS_URL = '21609';

/**
 * Sends texts by Twilio.
 *
 * @throws where the account sid does not begin with AC
 */
export function createTwilioSender(options: TwilioOptions): TextSender {
  const http = createHttpExchange();
  const httpClient = exchangeClient(http, options);
  const client = twilio(options.accountSid, options.authToken, { httpClient });
  // Read at start, because the first read loads the API's classes, which takes 40 ms.
  const { messages } = client;
  // Where the SDK looks for messages, which an environment may have moved to a region.
  const apiBase = options.apiBase ?? `https://${client.getHostname('api.twilio.com', client.edge, client.region)}`;
  const post = openMessageCall({ ...options, apiBase }, http);
  const create = (text: NewMessage) => outcomeOf(async () => sentBy(await post(text)));
  async function lookUp(call: () => Promise<TextLookup>): Promise<TextLookup> {
    const outcome = await outcomeOf(call);
    return outcome.kind === 'refused' ? retryLater('bad_reply') : outcome;
  }
  return {
    from: options.from,
    async send({ to, body, usefulSeconds, statusUrl }) {
      const text = { to, body, validityPeriod: validityOf(usefulSeconds) };
      if (statusUrl === undefined) return create(text);
      const outcome = await create({ ...text, statusCallback: statusUrl + RETRIES });
      // The customer is told all the same, and the text stays `sent`.
      return outcome.kind === 'refused' && outcome.code === BAD_STATUS_URL ? create(text) : outcome;
    },
    find: ({ to, ending, sinceMs }) =>
      lookUp(async () => {
        // Not filtered by the day sent, which a queued message does not have.
        const latest = await messages.list({ to, limit: MAX_MESSAGES_SEARCHED, pageSize: MAX_MESSAGES_SEARCHED });
        const found = latest.find((message) => {
          // One that no carrier took is none.
          if (isSenderRefusal(message.errorCode)) return false;
          // Twilio's times are in whole seconds.
          return message.body?.endsWith(ending) && message.dateCreated.getTime() >= sinceMs - 1_000;
        });
        return found ? { kind: 'found', sid: found.sid } : { kind: 'not_found' };
      }),
    findSender: () =>
      lookUp(async () => {
        const { from } = options;
        const found = from.startsWith('+')
          ? await client.incomingPhoneNumbers.list({ phoneNumber: from, limit: 1 })
          : await client.shortCodes.list({ shortCode: from, limit: 1 });
        const [number] = found.filter((one) => !('capabilities' in one) || one.capabilities.sms);
        return number ? { kind: 'found', sid: number.sid } : { kind: 'not_found' };
      }),
    close: () => http.close(),
  };
}

const validityOf = (seconds: number): number =>
  Math.min(MAX_VALIDITY_SECONDS, Math.max(MIN_VALIDITY_SECONDS, Math.floor(seconds)));

/**
 * What a reply to a new message says.
 *
 * @throws {SyntaxError} for a success without JSON
 */
function sentBy({ status, body }: ExchangeReply): SendOutcome {
  if (status < 200 || status >= 300) {
    const { code, message, title } = errorIn(body);
    return refusalOf(status, code, message ?? title);
  }
  const message = JSON.parse(body);
  return typeof message?.sid === 'string' && message.sid ? { kind: 'sent', sid: message.sid } : retryLater('bad_reply');
}

/** Twilio's newer errors have a title (RFC 9457). */
function errorIn(body: string): { readonly code?: unknown; readonly message?: unknown; readonly title?: unknown } {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}

type Refused = Extract<SendOutcome, { kind: 'refused' }>;

async function outcomeOf<Outcome>(call: () => Promise<Outcome>): Promise<Outcome | Refused | RetryLater> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ExchangeError) return error.outcome;
    if (error instanceof SyntaxError) return retryLater('bad_reply');
    const { status, code } = error as { status?: unknown; code?: number };
    if (typeof status !== 'number') throw error;
    return refusalOf(status, code);
  }
}

/** What a failure says, by its status and Twilio's code; `said` are Twilio's words. */
export function refusalOf(status: number, code: unknown, said?: unknown): Refused | RetryLater {
  if (status === 429 || code === QUEUE_FULL) return retryLater('rate_limited');
  if (status === 401 || SENDER_REFUSED.has(code)) return retryLater('misconfigured');
  // Twilio's refusals have a code. One without it is a proxy's, and the message may have been created.
  if (status < 400 || status >= 500) return retryLater('server_error');
  return code ? { kind: 'refused', code: String(code), says: vendorWords(said) } : retryLater('bad_reply');
}

/** Puts the bounded exchange below Twilio's SDK, and another server's address where one is given. */
function exchangeClient(http: HttpExchange, { apiBase, timeoutMs }: Pick<TwilioOptions, 'apiBase' | 'timeoutMs'>) {
  class ExchangeClient extends twilio.RequestClient {
    override async request<Data>(options: RequestOptions<Data>): Promise<TwilioReply<Data>> {
      const asked = new URL(options.uri);
      for (const [name, value] of fields(options.params)) asked.searchParams.append(name, value);
      const server = apiBase ? new URL(apiBase) : asked;
      const body = options.data ? new URLSearchParams(fields(options.data)).toString() : '';
      const reply = await http.send({
        protocol: server.protocol === 'http:' ? 'http:' : 'https:',
        host: server.hostname,
        port: server.port || (server.protocol === 'http:' ? 80 : 443),
        path: asked.pathname + asked.search,
        method: options.method.toUpperCase(),
        headers: {
          ...options.headers,
          Authorization: `Basic ${Buffer.from(`${options.username}:${options.password}`).toString('base64')}`,
          ...(body ? { 'Content-Length': Buffer.byteLength(body) } : {}),
        },
        body,
        timeoutMs,
      });
      // The SDK parses the text of a reply itself, but its types name the parsed one.
      return { statusCode: reply.status, body: reply.body as Data, headers: reply.headers };
    }
  }
  return new ExchangeClient({ timeout: timeoutMs });
}

type RequestOptions<Data> = Parameters<InstanceType<typeof twilio.RequestClient>['request']>[0] & { data?: Data };
type TwilioReply<Data> = { statusCode: number; body: Data; headers: unknown };

function fields(values: unknown): [string, string][] {
  return Object.entries(values ?? {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): [string, string] => [name, String(one)]),
  );
}
