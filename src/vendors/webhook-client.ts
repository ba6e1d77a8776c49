import { Resolver } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import {
  MAX_WEBHOOK_REPLY_BYTES,
  MAX_WEBHOOK_URL_LENGTH,
  WEBHOOK_CONCURRENCY,
  WEBHOOK_DNS_GRACE_MS,
  WEBHOOK_DNS_TIMEOUT_MS,
  WEBHOOK_TIMEOUT_MS,
} from '../limits.ts';
import { isLoopbackAddress, isPublicAddress } from './public-address.ts';

export type WebhookOutcome =
  /** The receiver's status, whatever became of the rest of its reply. */
  | { readonly kind: 'answered'; readonly status: number }
  /** No status came; the request may have arrived all the same where it was a time-out or a lost connection. */
  | { readonly kind: 'unanswered'; readonly code: UnansweredCode }
  /** This process stops; says nothing about the receiver. */
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

export type WebhookClient = {
  /** Posts a JSON text once and never throws; takes no longer than the time-out. */
  post(request: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  }): Promise<WebhookOutcome>;
  /** Cuts what is under way and refuses what comes. */
  close(): void;
};

type Address = { readonly address: string; readonly family: 4 | 6 };

/** Every address of a host name. @throws when there is none */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

/**
 * The one client for addresses that strangers chose. It resolves the name itself, refuses unless every address is public,
 * and connects to just these addresses, so an answer that changes in between is never used. https only; in the sandbox
 * http and this machine's own address as well. Redirects are not followed, proxies not used, connections not kept. The
 * reply's body is read up to `MAX_WEBHOOK_REPLY_BYTES` and forgotten.
 */
export function createWebhookClient(options: {
  readonly sandbox: boolean;
  readonly resolve?: ResolveHost;
  /** From the call to the last byte read, the name's resolution included. */
  readonly timeoutMs?: number;
  /** Certificate authorities in place of Node's own, as PEM. */
  readonly ca?: string;
}): WebhookClient {
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
    async post({ url: text, headers, body }) {
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
    close() {
      closed = true;
      for (const control of open) control.abort('stopped');
    },
  };
}

/**
 * Reads a URL that a store's webhooks may go to; a sentence where they may not. A name's addresses are checked when
 * something is sent, since they can change.
 */
export function readWebhookUrl(text: string, sandbox: boolean): URL | string {
  if (text.length > MAX_WEBHOOK_URL_LENGTH) return `The URL is longer than ${MAX_WEBHOOK_URL_LENGTH} characters.`;
  if (!URL.canParse(text)) return 'That is not a URL.';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(sandbox && url.protocol === 'http:')) return 'The URL must start with https://.';
  if (url.username !== '' || url.password !== '') return 'The URL must not hold a user name or a password.';
  // The parser has turned every notation of an IPv4 address (0x7f.1, 2130706433) into the dotted one.
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowed(host, sandbox)) return 'That address is not one of the public Internet.';
  url.hash = '';
  return url;
}

type Outgoing = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

const unanswered = (code: UnansweredCode): WebhookOutcome => ({ kind: 'unanswered', code });

const isAllowed = (address: string, sandbox: boolean): boolean =>
  isPublicAddress(address) || (sandbox && isLoopbackAddress(address));

const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1');

async function addressesOf(url: URL, resolve: ResolveHost): Promise<Address[]> {
  const host = hostOf(url);
  const found = isIP(host) !== 0 ? [host] : await resolve(host);
  return found.map((address) => ({ address, family: isIP(address) === 6 ? 6 : 4 }));
}

/**
 * Asks the name servers without the thread pool, which a slow one would take from the rest of the process. `localhost`
 * is this machine by definition (RFC 6761); the hosts file is not read.
 */
async function resolveByDns(host: string): Promise<string[]> {
  if (/(^|\.)localhost\.?$/.test(host)) return ['127.0.0.1', '::1'];
  const resolver = new Resolver({ timeout: WEBHOOK_DNS_TIMEOUT_MS, tries: 2 });
  try {
    return await gatherAddresses([resolver.resolve4(host), resolver.resolve6(host)], WEBHOOK_DNS_GRACE_MS);
  } finally {
    resolver.cancel();
  }
}

/**
 * The addresses of all answers, or of those that are there `graceMs` after the first one with any: a name server that
 * says nothing about one family does not take the time of the other. What comes later is never used, since nobody would
 * check it. An answer that failed has none.
 */
export function gatherAddresses(answers: readonly Promise<readonly string[]>[], graceMs: number): Promise<string[]> {
  return new Promise((resolve) => {
    let found: string[] = [];
    let grace: NodeJS.Timeout | undefined;
    let left = answers.length;
    const end = () => {
      clearTimeout(grace);
      resolve(found);
    };
    const answered = (addresses: readonly string[]) => {
      found = [...found, ...addresses];
      left--;
      if (left === 0) end();
      else if (found.length > 0) grace ??= setTimeout(end, graceMs);
    };
    for (const answer of answers) answer.then(answered, () => answered([]));
  });
}

function send(url: URL, addresses: readonly Address[], outgoing: Outgoing, signal: AbortSignal, ca?: string) {
  return new Promise<WebhookOutcome>((resolve, reject) => {
    const { request } = url.protocol === 'https:' ? https : http;
    const sent = request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'sameday-webhooks', ...outgoing.headers },
      // A connection of its own each time: a kept one would outlive the check of its address.
      agent: false,
      lookup: answerWith(addresses),
      signal,
      ...(ca === undefined ? {} : { ca }),
    });
    let answered: WebhookOutcome | null = null;
    // Once the status is there it is the answer, however the rest of the reply ends.
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

/** A `lookup` for a socket that knows the checked addresses and nothing else. */
function answerWith(addresses: readonly Address[]): LookupFunction {
  return (_host, { all }, callback) => {
    const [first] = addresses as [Address];
    if (all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}

/** Waits no longer than the signal allows; a name server can't be interrupted. */
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
