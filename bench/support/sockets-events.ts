import { storeOf } from '../../test/harness/store.ts';
import { doAtOnce } from './at-once.ts';
import type { createClient } from './sockets-check.ts';
import type { Child } from './sockets-child.ts';
import { clockMs } from './sockets-line.ts';
import type { Heard } from './sockets-viewers.ts';
import { driverId, driverToken, orderId, type SocketWorld } from './sockets-world.ts';

/** A change of one order: when it was requested, and when it was known to be done. */
export type Event = {
  readonly order: number;
  readonly sequence: number;
  readonly sentMs: number;
  readonly doneMs: number;
};
export type Step = 'pick-up' | 'undeliverable' | 'return';
/** Changes an order; resolves with the number of the event. */
export type Act = (order: number) => Promise<number>;

const NO_STAMP = { actionId: null, capturedAt: null };

/** A tap on the driver's phone. */
export function tapping(client: ReturnType<typeof createClient>, step: Step): Act {
  const body = step === 'undeliverable' ? { reason: 'nobody_home' } : {};
  return async (order) => {
    const path = `/driver/orders/${orderId(order)}/${step}`;
    const answer = await client.send('POST', path, driverToken(order), body);
    if (answer.status !== 200) throw new Error(`${step} was answered with ${answer.status}: ${answer.body}`);
    return (JSON.parse(answer.body) as { order: { sequence: number } }).order.sequence;
  };
}

/** A pickup committed by another process of the service, of which this one learns by its notice. */
export function committing({ sql }: SocketWorld): Act {
  return async (order) => {
    const changed = await storeOf(sql, 'bench').pickUpOrder(orderId(order), driverId(order), NO_STAMP);
    if (!changed) throw new Error('an order could not be picked up');
    return changed.sequence;
  };
}

/** Changes all these orders, `atOnce` at a time. */
export async function happen(orders: readonly number[], atOnce: number, act: Act): Promise<Event[]> {
  const events: Event[] = [];
  await doAtOnce(orders.length, atOnce, async (at) => {
    const order = orders[at] as number;
    const sentMs = clockMs();
    const sequence = await act(order);
    events.push({ order, sequence, sentMs, doneMs: clockMs() });
  });
  return events;
}

export type Followed = {
  readonly events: number;
  readonly frames: number;
  readonly expected: number;
  /** Time from the first request to the last frame. */
  readonly tookMs: number;
  /** Times from the request to its answer, and from the request and from the answer to each frame. */
  readonly answersMs: Float64Array;
  readonly fromSentMs: Float64Array;
  readonly fromDoneMs: Float64Array;
};

/** Follows events to the pages: each socket of each order must get each of them exactly once. */
export async function follow(
  viewers: Child,
  events: readonly Event[],
  each: number,
  failed: (what: string) => void,
): Promise<Followed> {
  const expected = events.length * each;
  const heard = await viewers.ask<Heard>('heard', { count: expected });
  const byOrder = new Map(events.map((event) => [event.order, event]));
  const told = new Set<number>();
  const fromSent: number[] = [];
  const fromDone: number[] = [];
  for (const [at, order] of heard.order.entries()) {
    const event = byOrder.get(order);
    const socket = heard.socket[at] as number;
    if (!event || heard.sequence[at] !== event.sequence || told.has(socket)) {
      failed(`a page of order ${order} was told of event ${heard.sequence[at]}, which nobody waits for`);
      continue;
    }
    told.add(socket);
    fromSent.push((heard.atMs[at] as number) - event.sentMs);
    fromDone.push((heard.atMs[at] as number) - event.doneMs);
  }
  if (told.size !== expected) failed(`${expected - told.size} of ${expected} pages did not hear of an event`);
  return {
    events: events.length,
    frames: told.size,
    expected,
    tookMs: heard.atMs.reduce((a, b) => Math.max(a, b), 0) - Math.min(...events.map(({ sentMs }) => sentMs)),
    answersMs: Float64Array.from(events, ({ sentMs, doneMs }) => doneMs - sentMs),
    fromSentMs: Float64Array.from(fromSent),
    fromDoneMs: Float64Array.from(fromDone),
  };
}
