import type { ExchangeReply, HttpExchange } from '../vendors/http-exchange.ts';

export type NewMessage = {
  readonly to: string;
  readonly body: string;
  readonly statusCallback?: string | undefined;
  /** Seconds for which Twilio may keep it in its queue. */
  readonly validityPeriod: number;
};

/**
 * Makes a function that creates a message: it sends, in one attempt, what `messages.create` of Twilio's SDK
 * would send, which takes much more processor time for the request and for dates that nobody reads.
 *
 * The function throws an ExchangeError where no complete reply came.
 */
export function openMessageCall(
  options: {
    readonly accountSid: string;
    readonly authToken: string;
    readonly from: string;
    readonly apiBase: string;
    readonly timeoutMs: number;
  },
  http: HttpExchange,
): (message: NewMessage) => Promise<ExchangeReply> {
  const { accountSid, authToken, from, timeoutMs } = options;
  const server = new URL(options.apiBase);
  const protocol = server.protocol === 'http:' ? 'http:' : 'https:';
  const fixed = {
    protocol,
    host: server.hostname,
    port: server.port || (protocol === 'https:' ? 443 : 80),
    path: `/2010-04-01/Accounts/${accountSid}/Messages.json`,
    method: 'POST',
    timeoutMs,
  } as const;
  const headers = {
    Accept: 'application/json',
    'Accept-Charset': 'utf-8',
    'Content-Type': 'application/x-www-form-urlencoded',
    'User-Agent': 'sameday-dispatch',
    Authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`,
  };
  return ({ to, body: text, statusCallback, validityPeriod }) => {
    const callback = statusCallback === undefined ? {} : { StatusCallback: statusCallback };
    const fields = { To: to, ...callback, ValidityPeriod: String(validityPeriod), From: from, Body: text };
    const body = new URLSearchParams(fields).toString();
    return http.send({ ...fixed, headers: { ...headers, 'Content-Length': Buffer.byteLength(body) }, body });
  };
}
