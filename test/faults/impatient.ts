import { connect } from 'node:net';
import type { Random } from '../harness/world.ts';
import { heardOf, note, type Order, unheard } from './clients.ts';
import type { Heard } from './history.ts';
import { any } from './row.ts';
import { addressOf, jsonPost, readAnswer } from './wire.ts';
import { later, type World } from './world.ts';

const PATIENT_MS = 20_000;
const PAUSE_MS = 50;
/** Time within which a lost reply is recorded; before that another process may not know of it. */
const RECORDED_MS = 1_000;
const GIVE_UP_MS = 90_000;

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
  const socket = connect({ ...addressOf(url), noDelay: true });
  socket.write(jsonPost('/orders/create', apiKey, Buffer.from(body)));
  const reply = new Promise<Heard>((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    const done = () => {
      const answer = readAnswer(bytes)?.answer;
      socket.destroy();
      resolve(answer ? heardOf(op, answer.status, JSON.parse(answer.body)) : unheard(op));
    };
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (readAnswer(bytes)) done();
    });
    socket.on('error', done);
    socket.on('close', done);
  });
  return { reply, leave: () => socket.end() };
}
