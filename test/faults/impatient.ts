import { connect } from 'node:net';
import type { Random } from '../harness/world.ts';
import { type anyOrder, note } from './clients.ts';
import type { Heard } from './history.ts';
import { any } from './row.ts';
import { later, type World } from './world.ts';

/** Told that nothing happened. */
const REFUSED: ReadonlySet<number> = new Set([429, 500, 503]);
const PATIENT_MS = 20_000;
const PAUSE_MS = 50;
/** Time within which a lost reply is recorded; before that another process may not know of it. */
const RECORDED_MS = 1_000;
const GIVE_UP_MS = 90_000;

type Order = ReturnType<typeof anyOrder>;
type Attempt = {
  /** The reply; null where the connection ended before a whole one came. */
  readonly reply: Promise<Heard>;
  /** Ends the sending half; no reply is awaited. */
  leave(): void;
};

/**
 * Runs a client without a key and with little patience: it leaves at a random moment, first soon, then later,
 * and sends the same request at once to the same API process or, after RECORDED_MS or an answer, to any,
 * until it gets an order. Returns a sentence where it never did.
 */
export async function wantImpatiently(world: World, order: Order, random: Random): Promise<string | null> {
  note(world, order);
  const left: Promise<Heard>[] = [];
  const untilMs = performance.now() + GIVE_UP_MS;
  let isServed = false;
  let api = any(world.apis, random);
  for (let attempt = 0; !isServed && performance.now() < untilMs; attempt++) {
    const { reply, leave } = send(api.url(), order);
    const noted = reply.then((heard) => {
      world.history.hears(heard);
      return heard;
    });
    const heard = await Promise.race([noted, later(attempt < 3 ? random() * 50 : PATIENT_MS).then(() => null)]);
    if (heard === null) {
      leave();
      left.push(noted);
      if (random() < 0.5) {
        await later(RECORDED_MS);
        api = any(world.apis, random);
      }
    } else if (heard.outcome === 'ok') isServed = true;
    else {
      await later(PAUSE_MS * (0.5 + random()));
      api = any(world.apis, random);
    }
  }
  // A reply that was in flight when the client left counts as well.
  const late = await Promise.all(left);
  if (isServed || late.some(({ outcome }) => outcome === 'ok')) return null;
  return `client: operation ${order.op} heard of no order`;
}

/**
 * Sends on a new connection and closes only its sending half, so that every reply that reaches this machine
 * is read.
 */
function send(url: string, { op, body, apiKey }: Order): Attempt {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  const head = `POST /orders/create HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${apiKey}\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  const reply = new Promise<Heard>((resolve) => {
    let text = '';
    const done = () => {
      const heard = read(text);
      socket.destroy();
      resolve({ op, ...(heard ?? { outcome: 'unknown', status: null, orderId: null }) });
    };
    socket.on('data', (chunk) => {
      text += String(chunk);
      if (read(text)) done();
    });
    socket.on('error', done);
    socket.on('close', done);
  });
  return { reply, leave: () => socket.end() };
}

/** The whole reply; null while a part is missing. */
function read(text: string): Omit<Heard, 'op'> | null {
  const [head = '', body] = text.split('\r\n\r\n', 2);
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
  if (body === undefined || Buffer.byteLength(body) < length) return null;
  const status = Number(head.split(' ')[1]);
  const { order } = JSON.parse(body) as { order?: { id: string } };
  const outcome = status === 201 ? 'ok' : REFUSED.has(status) ? 'failed' : 'unknown';
  return { outcome, status, orderId: order?.id ?? null };
}
