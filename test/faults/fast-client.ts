import { ConnectionPool } from '../harness/connection-pool.ts';
import { toWire } from '../harness/paced.ts';
import type { Random } from '../harness/world.ts';
import { anyOrder, heardOf, note, type Order, unheard } from './clients.ts';
import { later, type World } from './world.ts';

const MOST_CONNECTIONS = 4_000;
/** Requests that are due at once are sent in parts, so that answers are read between them. */
const PART = 1_024;
/** Start of an overload in which its queues fill; counting begins after it. */
const FILLING_MS = 2_000;

/** The results of many requests; status 0 stands for a connection that broke or stayed silent. */
export type Answers = {
  /** Milliseconds of each request, by status. */
  readonly millisBy: ReadonlyMap<number, readonly number[]>;
  /** 201 a second while orders were sent; later ones are not counted. */
  readonly perSecond: number;
  /** Requests sent a second; fewer than planned where the machine cannot send more. */
  readonly offered: number;
};

export type FastClient = ReturnType<typeof openFastClient>;

/**
 * Sends orders at little cost of its own, each once, without a key, on kept connections to one API process.
 */
export function openFastClient(world: World, random: Random) {
  const target = new URL(world.apis[0]?.url() ?? '');
  const lines = new ConnectionPool(target, MOST_CONNECTIONS);
  let sent = 0;

  function wanted(count: number): Order[] {
    const orders = Array.from({ length: count }, () => anyOrder(world, random, false));
    note(world, ...orders);
    return orders;
  }

  async function post(order: Order, millisBy: Map<number, number[]>): Promise<void> {
    sent++;
    const headers = { authorization: `Bearer ${order.apiKey}`, 'content-type': 'application/json' };
    const sentMs = performance.now();
    const { status, body } = await lines
      .ask(toWire(target, { headers, body: order.body }))
      .catch(() => ({ status: 0, body: '' }));
    const millis = millisBy.get(status) ?? [];
    millis.push(performance.now() - sentMs);
    millisBy.set(status, millis);
    world.history.hears(status === 0 ? unheard(order.op) : heardOf(order.op, status, JSON.parse(body)));
  }

  return {
    /** 201 a second where each of these clients sends its next order after the answer to the last one. */
    async saturate(clients: number, seconds: number): Promise<number> {
      const millisBy = new Map<number, number[]>();
      const untilMs = performance.now() + seconds * 1_000;
      const one = async (): Promise<void> => {
        while (performance.now() < untilMs) for (const order of wanted(1)) await post(order, millisBy);
      };
      await Promise.all(Array.from({ length: clients }, one));
      return (millisBy.get(201)?.length ?? 0) / seconds;
    },
    /**
     * Sends this many orders a second whatever their answers, as customers do. Clients with a core of their
     * own never sleep: to wake them would cost the service's core more than an answer, which it does not on a
     * network.
     */
    async offer(perSecond: number, seconds: number, areApart: boolean): Promise<Answers> {
      const millisBy = new Map<number, number[]>();
      const asked: Promise<void>[] = [];
      const created = (): number => millisBy.get(201)?.length ?? 0;
      let early: number | null = null;
      const startedMs = performance.now();
      for (let nowMs = startedMs; nowMs - startedMs < seconds * 1_000; nowMs = performance.now()) {
        if (early === null && nowMs - startedMs >= FILLING_MS) early = created();
        const due = Math.floor(((nowMs - startedMs) * perSecond) / 1_000) - asked.length;
        for (const order of wanted(Math.min(due, PART))) asked.push(post(order, millisBy));
        // Answers are read between two parts, however many requests are due.
        await (due > PART || areApart ? new Promise(setImmediate) : later(1));
      }
      const tookMs = performance.now() - startedMs;
      const perSecondTaken = ((created() - (early ?? 0)) * 1_000) / (tookMs - FILLING_MS);
      await Promise.all(asked);
      return { millisBy, perSecond: perSecondTaken, offered: (asked.length * 1_000) / tookMs };
    },
    sent: () => sent,
    close: () => lines.close(),
  };
}
