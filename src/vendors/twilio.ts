import twilio from 'twilio';
import { MAX_MESSAGES_SEARCHED } from '../limits.ts';
import { createHttpExchange, ExchangeError, type HttpExchange } from './http-exchange.ts';
import { type RetryLater, retryLater } from './retry-later.ts';
import type { SendOutcome, TextLookup, TextSender } from './text-sender.ts';
import { RETRIES } from './twilio-calls.ts';

export type TwilioOptions = {
  readonly accountSid: string;
  readonly authToken: string;
  /** The sending number, E.164. */
  readonly from: string;
  /** Base URL of another server that speaks Twilio's API. */
  readonly apiBase?: string | undefined;
  readonly timeoutMs: number;
};

/** The queue of the sending number is full: a 4xx that passes by itself. */
const QUEUE_FULL = 21611;
/** Twilio takes no status callback to this address, such as one that is not public. */
const BAD_STATUS_URL = '21609';

/**
 * Sends texts by Twilio.
 *
 * @throws where the account sid does not begin with AC
 */
export function createTwilioSender(options: TwilioOptions): TextSender {
  const http = createHttpExchange();
  const httpClient = new ExchangeClient(http, options.apiBase, options.timeoutMs);
  // Read at start, because the first read loads the API's classes, which takes 40 ms.
  const { messages } = twilio(options.accountSid, options.authToken, { httpClient });
  const create = (text: { readonly to: string; readonly body: string; readonly statusCallback?: string }) =>
    outcomeOf(async (): Promise<SendOutcome> => {
      const message = await messages.create({ ...text, from: options.from });
      return message.sid ? { kind: 'sent', sid: message.sid } : retryLater('bad_reply');
    });
  return {
    async send({ to, body, statusUrl }) {
      if (statusUrl === undefined) return create({ to, body });
      const outcome = await create({ to, body, statusCallback: statusUrl + RETRIES });
      // The customer is told all the same, and the text stays `sent`.
      return outcome.kind === 'refused' && outcome.code === BAD_STATUS_URL ? create({ to, body }) : outcome;
    },
    find: async ({ to, ending, sinceMs }) => {
      const outcome = await outcomeOf(async (): Promise<TextLookup> => {
        // Not filtered by the day sent, which a queued message does not have.
        const latest = await messages.list({ to, limit: MAX_MESSAGES_SEARCHED, pageSize: MAX_MESSAGES_SEARCHED });
        const found = latest.find((message) => {
          // Twilio's times are in whole seconds.
          return message.body?.endsWith(ending) && message.dateCreated.getTime() >= sinceMs - 1_000;
        });
        return found ? { kind: 'found', sid: found.sid } : { kind: 'not_found' };
      });
      return outcome.kind === 'refused' ? retryLater('bad_reply') : outcome;
    },
    close: () => http.close(),
  };
}

type Refused = { readonly kind: 'refused'; readonly code: string };

async function outcomeOf<Outcome>(call: () => Promise<Outcome>): Promise<Outcome | Refused | RetryLater> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ExchangeError) return error.outcome;
    if (error instanceof SyntaxError) return retryLater('bad_reply');
    const { status, code } = error as { status?: unknown; code?: number };
    if (typeof status !== 'number') throw error;
    if (status === 429 || code === QUEUE_FULL) return retryLater('rate_limited');
    if (status === 401) return retryLater('misconfigured');
    // Twilio's refusals have a code. One without it is a proxy's, and the message may have been created.
    if (status >= 400 && status < 500) return code ? { kind: 'refused', code: String(code) } : retryLater('bad_reply');
    return retryLater('server_error');
  }
}

/** Puts the bounded exchange below Twilio's SDK, and another server's address where one is given. */
class ExchangeClient extends twilio.RequestClient {
  readonly #http: HttpExchange;
  readonly #apiBase: string | undefined;
  readonly #timeoutMs: number;

  constructor(http: HttpExchange, apiBase: string | undefined, timeoutMs: number) {
    super({ timeout: timeoutMs });
    this.#http = http;
    this.#apiBase = apiBase;
    this.#timeoutMs = timeoutMs;
  }

  override async request<Data>(options: RequestOptions<Data>): Promise<TwilioReply<Data>> {
    const asked = new URL(options.uri);
    for (const [name, value] of fields(options.params)) asked.searchParams.append(name, value);
    const server = this.#apiBase === undefined ? asked : new URL(this.#apiBase);
    const body = options.data ? new URLSearchParams(fields(options.data)).toString() : '';
    const reply = await this.#http.send({
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
      timeoutMs: this.#timeoutMs,
    });
    // The SDK parses the text of a reply itself, but its types name the parsed one.
    return { statusCode: reply.status, body: reply.body as Data, headers: reply.headers };
  }
}

type RequestOptions<Data> = Parameters<InstanceType<typeof twilio.RequestClient>['request']>[0] & { data?: Data };
type TwilioReply<Data> = { statusCode: number; body: Data; headers: unknown };

function fields(values: unknown): [string, string][] {
  return Object.entries(values ?? {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): [string, string] => [name, String(one)]),
  );
}
