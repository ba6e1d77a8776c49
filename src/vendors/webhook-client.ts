import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { below, MAX_WEBHOOK_URL_LENGTH, WEBHOOK_CONCURRENCY, WEBHOOK_TIMEOUT_MS } from '../limits.ts';
import { isLoopbackAddress, isPublicAddress } from './public-address.ts';
import { type ResolveHost, resolveByDns } from './resolve-host.ts';

/** Most bytes read of a receiver's reply, of which only the status counts; then the connection is cut. */
const MAX_WEBHOOK_REPLY_BYTES = 64 * 1024;
/**
 * Longest wait for one address of a receiver while there is another, in place of Node's 250 ms: far receivers, and lost
 * packets, which are sent again after a second, take longer. Below WEBHOOK_TIMEOUT_MS, so that the next one is tried.
 */
const WEBHOOK_ADDRESS_MS = 1_500;

below({ WEBHOOK_ADDRESS_MS }, { WEBHOOK_TIMEOUT_MS });

export type WebhookOutcome =
  /** The receiver's status, even where the rest of its reply was lost. */
  | { readonly kind: 'answered'; readonly status: number }
  /** No status arrived. The request itself may have arrived after a time-out or a lost connection. */
  | { readonly kind: 'unanswered'; readonly code: UnansweredCode }
  /** This process is stopping, which says nothing about the receiver. */
  | { readonly kind: 'stopped' };

type UnansweredCode =
  | 'bad_url'
  | 'forbidden_address'
  | 'name_not_resolved'
  | 'unreachable'
  | 'tls_failed'
  | 'timeout'
  | 'connection_lost'
  | 'bad_reply'
  | 'busy';

export type WebhookClient = ReturnType<typeof createWebhookClient>;

type Address = { readonly address: string; readonly family: 4 | 6 };

/**
 * The client for addresses that strangers chose. It resolves the name itself, refuses unless every address is
 * public, and connects to these addresses only, so an answer that changes in between is not used. It speaks
 * https, and in the sandbox http and to this machine as well. It follows no redirect, uses no proxy and keeps
 * no connection. A reply's body is read up to `MAX_WEBHOOK_REPLY_BYTES` and dropped.
 */
export function createWebhookClient(options: {
  readonly sandbox: boolean;
  readonly resolve?: ResolveHost;
  /** From the call to the last byte read, name resolution included. */
  readonly timeoutMs?: number;
  /** Certificate authorities in place of Node's own, as PEM. */
  readonly ca?: string;
}) {
  const { sandbox, resolve = resolveByDns, timeoutMs = WEBHOOK_TIMEOUT_MS, ca } = options;
  const open = new Set<AbortController>();
  let closed = false;

  async function exchange(url: URL, request: Outgoing, signal: AbortSignal): Promise<WebhookOutcome> {
    const addresses = await within(signal, addressesOf(url, resolve));
    if (addresses.length === 0) return unanswered('name_not_resolved');
    if (!addresses.every(({ address }) => isAllowed(address, sandbox))) return unanswered('forbidden_address');
    return send(url, addresses, request, signal, ca);
  }

  return {
    /** Posts a JSON text, or other bytes, in one attempt. Never throws, and takes no longer than the time-out. */
    async post({ url: text, headers, body }: Outgoing & { readonly url: string }): Promise<WebhookOutcome> {
      if (closed) return { kind: 'stopped' };
      const url = readWebhookUrl(text, sandbox);
      if (typeof url === 'string') return unanswered('bad_url');
      if (open.size >= WEBHOOK_CONCURRENCY) return unanswered('busy');
      const control = new AbortController();
      open.add(control);
      const deadline = setTimeout(() => control.abort('timeout'), timeoutMs);
      try {
        return await exchange(url, { headers, body }, control.signal);
      } catch (error) {
        if (closed) return { kind: 'stopped' };
        return unanswered(control.signal.aborted ? 'timeout' : codeOf(error));
      } finally {
        clearTimeout(deadline);
        open.delete(control);
      }
    },
    /** Cuts requests in flight and refuses new ones. */
    close(): void {
      closed = true;
      for (const control of open) control.abort('stopped');
    },
  };
}

/**
 * Reads the URL of a store's webhook; where it is not acceptable, returns the end of a sentence that begins
 * with the URL. The addresses of a name are checked at each delivery, since they can change.
 */
export function readWebhookUrl(text: string, sandbox: boolean): URL | string {
  if (text.length > MAX_WEBHOOK_URL_LENGTH) return TOO_LONG;
  if (!URL.canParse(text)) return 'is not a URL';
  const url = new URL(text);
  // The parser writes a character of another script as up to nine.
  if (url.href.length > MAX_WEBHOOK_URL_LENGTH) return TOO_LONG;
  const isHttp = sandbox && url.protocol === 'http:';
  if (url.protocol !== 'https:' && !isHttp) return `must start with https://${sandbox ? ' or http://' : ''}`;
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or a password';
  // The parser turns every notation of an IPv4 address (0x7f.1, 2130706433) into the dotted one.
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowed(host, sandbox)) return 'is not on the public Internet';
  url.hash = '';
  return url;
}

const TOO_LONG = `is longer than ${MAX_WEBHOOK_URL_LENGTH} characters`;

type Outgoing = { readonly headers: Readonly<Record<string, string>>; readonly body: string | Buffer };

const unanswered = (code: UnansweredCode): WebhookOutcome => ({ kind: 'unanswered', code });

const isAllowed = (address: string, sandbox: boolean): boolean =>
  isPublicAddress(address) || (sandbox && isLoopbackAddress(address));

const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1');

async function addressesOf(url: URL, resolve: ResolveHost): Promise<Address[]> {
  const host = hostOf(url);
  const found = isIP(host) !== 0 ? [host] : await resolve(host);
  const addresses: Address[] = found.map((address) => ({ address, family: isIP(address) === 6 ? 6 : 4 }));
  // The first one is tried first, and a host without IPv6 may swallow what is sent over it.
  return addresses.toSorted((a, b) => a.family - b.family);
}

function send(url: URL, addresses: readonly Address[], outgoing: Outgoing, signal: AbortSignal, ca?: string) {
  return new Promise<WebhookOutcome>((resolve, reject) => {
    const { request } = url.protocol === 'https:' ? https : http;
    const options = {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'sameday-webhooks', ...outgoing.headers },
      // A new connection each time, as a kept one would outlive the check of its address.
      agent: false,
      lookup: answerWith(addresses),
      autoSelectFamilyAttemptTimeout: WEBHOOK_ADDRESS_MS,
      signal,
      ...(ca === undefined ? {} : { ca }),
    };
    const sent = request(url, options);
    let answered: WebhookOutcome | null = null;
    // The status alone is the answer, however the rest of the reply ends.
    const ended = (error: Error) => (answered ? resolve(answered) : reject(error));
    sent.once('error', ended);
    sent.once('close', () => ended(new Error('closed without a reply')));
    sent.once('response', (reply) => {
      answered = { kind: 'answered', status: reply.statusCode ?? 0 };
      let bytes = 0;
      reply.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_WEBHOOK_REPLY_BYTES) sent.destroy();
      });
      reply.once('error', ended);
      reply.once('close', () => ended(new Error('closed')));
    });
    sent.end(outgoing.body);
  });
}

/** A `lookup` for a socket that answers with the checked addresses only. */
function answerWith(addresses: readonly Address[]): LookupFunction {
  return (_host, { all }, callback) => {
    const [first] = addresses as [Address];
    if (all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}

/** Rejects when the signal aborts, as a query to a name server cannot be interrupted. */
function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(new Error('aborted'));
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    work.then(resolve, () => reject(Object.assign(new Error('no address'), { code: 'ENOTFOUND' })));
  });
}

function codeOf(error: unknown): UnansweredCode {
  const { code = '' } = error as { code?: string };
  if (code === 'ENOTFOUND') return 'name_not_resolved';
  if (/^(ECONNREFUSED|E(HOST|NET)UNREACH|EADDRNOTAVAIL|ETIMEDOUT)$/.test(code)) return 'unreachable';
  if (/^HPE_/.test(code)) return 'bad_reply';
  if (/CERT|TLS|SSL|UNABLE_TO_/.test(code) || code === 'EPROTO') return 'tls_failed';
  return 'connection_lost';
}
