import { request } from 'node:http';
import sharp from 'sharp';
import { later } from './world.ts';

const REQUEST_MS = 20_000;
const ANNOUNCED_BYTES = 64 * 1024;
const NOT_NOW: ReadonlySet<number> = new Set([429, 503]);
/** The answer to a driver who sends too much at once. */
export const TOO_MANY: ReadonlySet<number> = new Set([429]);
const BUSY_TRIES = 200;
const BUSY_PAUSE_MS = 50;

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON; null where it is none. */
  readonly body: Record<string, unknown> | null;
};

type Sent = {
  readonly method?: string;
  readonly key?: string;
  /** Bytes and texts are sent as they are, anything else as JSON. */
  readonly body?: Uint8Array | string | object;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly withinMs?: number;
};

/**
 * Sends one request and reads its whole reply.
 *
 * @throws where none came in time
 */
export async function ask(url: string, sent: Sent = {}): Promise<Answer> {
  const { method = 'GET', key, body, type, withinMs = REQUEST_MS } = sent;
  const isBytes = body instanceof Uint8Array;
  const isAsItIs = isBytes || typeof body === 'string';
  const reply = await fetch(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': type ?? (isBytes ? 'image/jpeg' : 'application/json') }),
      ...sent.headers,
    },
    ...(body === undefined ? {} : { body: isAsItIs ? (body as string) : JSON.stringify(body) }),
    signal: AbortSignal.timeout(withinMs),
  });
  const { status, headers } = reply;
  const text = await reply.text();
  try {
    return { status, headers, text, body: JSON.parse(text) };
  } catch {
    return { status, headers, text, body: null };
  }
}

/**
 * The answer to an upload from a client that announces it, sends the first part and listens: a connection
 * that is closed while its client writes can lose the answer.
 */
export function announce(url: string, key: string, type: string, body: Buffer): Promise<Omit<Answer, 'headers'>> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': type, 'content-length': body.length };
    const sent = request(url, { method: 'POST', headers, timeout: REQUEST_MS }, (reply) => {
      const parts: Buffer[] = [];
      reply.on('data', (part: Buffer) => parts.push(part));
      reply.once('end', () => {
        const text = Buffer.concat(parts).toString();
        resolve({ status: reply.statusCode ?? 0, text, body: JSON.parse(text) });
        sent.destroy();
      });
    });
    sent.once('error', reject);
    sent.once('timeout', () => sent.destroy(new Error('no answer')));
    sent.write(body.subarray(0, ANNOUNCED_BYTES));
  });
}

/** As `ask`, repeated while the answer says that nothing happened, as phones do. */
export async function askUntilTaken(url: string, sent: Sent, notNow = NOT_NOW): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await ask(url, sent);
    if (!notNow.has(answer.status) || tries === BUSY_TRIES) return answer;
    await later(BUSY_PAUSE_MS);
  }
}

/** The smallest photo. */
export const smallPhoto = (): Promise<Buffer> =>
  sharp({ create: { width: 8, height: 8, channels: 3, background: '#a33' } })
    .jpeg()
    .toBuffer();
