import { Agent, request } from 'node:http';
import type { Random } from '../../bench/support/world.ts';
import { anyOrder, note } from './clients.ts';
import { later, type World } from './world.ts';

const ANSWER_MS = 15_000;

/** What a lot of requests came to; status 0 stands for a connection that broke or stayed silent. */
export type Answers = {
  /** Milliseconds that each took, by the status of its answer. */
  readonly millisBy: ReadonlyMap<number, readonly number[]>;
  /** 201 a second. */
  readonly perSecond: number;
  /** Sent a second; fewer than were to be offered where the machine can't send more. */
  readonly offered: number;
};

/** Orders of clients that cost little themselves, each sent once, without a key, on kept connections. */
export function openFastClient(world: World, random: Random) {
  // As many connections as there are requests at once; a kept one is left when the server's hint says so.
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const target = new URL(world.apis[0]?.url() ?? '');

  let sent = 0;

  function post(millisBy: Map<number, number[]>): Promise<void> {
    const sentMs = performance.now();
    sent++;
    const order = anyOrder(world, random, false);
    note(world, order);
    return new Promise((resolve) => {
      const heard = (status: number, body: string): void => {
        const millis = millisBy.get(status) ?? [];
        millis.push(performance.now() - sentMs);
        millisBy.set(status, millis);
        const orderId = /"order":\{"id":"([^"]+)"/.exec(body)?.[1] ?? null;
        const outcome = status === 201 ? 'ok' : status === 429 || status === 503 ? 'failed' : 'unknown';
        world.history.hears({ op: order.op, outcome, status: status || null, orderId });
        resolve();
      };
      const headers = {
        authorization: `Bearer ${order.apiKey}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(order.body),
      };
      const { hostname, port } = target;
      const asked = request({ agent, hostname, port, path: '/orders/create', method: 'POST', headers }, (answer) => {
        let body = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk;
        });
        answer.once('end', () => heard(answer.statusCode ?? 0, body));
        answer.once('error', () => heard(0, ''));
      });
      asked.setTimeout(ANSWER_MS, () => asked.destroy(new Error('silent')));
      asked.once('error', () => heard(0, ''));
      asked.end(order.body);
    });
  }

  return {
    /** 201 a second where so many clients send their next order when the last is answered: what the service takes at most. */
    async saturate(clients: number, seconds: number): Promise<number> {
      const millisBy = new Map<number, number[]>();
      const untilMs = performance.now() + seconds * 1_000;
      const one = async (): Promise<void> => {
        while (performance.now() < untilMs) await post(millisBy);
      };
      await Promise.all(Array.from({ length: clients }, one));
      return (millisBy.get(201)?.length ?? 0) / seconds;
    },
    /** So many orders a second whatever becomes of them, as customers come. */
    async offer(perSecond: number, seconds: number): Promise<Answers> {
      const millisBy = new Map<number, number[]>();
      const asked: Promise<void>[] = [];
      const startedMs = performance.now();
      for (let i = 0; i < perSecond * seconds; i++) {
        const dueMs = startedMs + (i * 1_000) / perSecond;
        while (performance.now() < dueMs) await later(1);
        asked.push(post(millisBy));
      }
      const tookSeconds = (performance.now() - startedMs) / 1_000;
      await Promise.all(asked);
      const created = millisBy.get(201)?.length ?? 0;
      return { millisBy, perSecond: created / tookSeconds, offered: asked.length / tookSeconds };
    },
    sent: () => sent,
    close: () => agent.destroy(),
  };
}
