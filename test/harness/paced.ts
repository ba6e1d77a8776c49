import { randomUUID } from 'node:crypto';
import type { LoadResult } from './burst.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { OrderRequest } from './order-world.ts';
import { summary } from './timing.ts';
import { seeded } from './world.ts';

const SEED = 41;

export type PaceOptions = {
  /** Of several, each gets its turn. */
  readonly url: string | readonly string[];
  readonly orders: readonly OrderRequest[];
  readonly perSecond: number;
  readonly seconds: number;
  /** Gives every request an idempotency key of its own. */
  readonly keyed?: boolean;
  /** Ends the load early; what is not answered by then counts as failed. */
  readonly signal?: AbortSignal | undefined;
};

/**
 * Sends requests at a given rate, at times that do not depend on the answers: a Poisson process, the same for
 * the same seed. Connections are kept and carry one request at a time. A latency counts from when the request
 * was due, so that a server that stalls delays all requests of that time.
 */
export async function pace(options: PaceOptions): Promise<LoadResult> {
  const { perSecond, seconds, signal } = options;
  const next = wiresOf(options);
  const random = seeded(SEED);
  const millis: number[] = [];
  const orderIds: string[] = [];
  const faults: string[] = [];
  const asked: Promise<void>[] = [];
  const ask = async (pool: ConnectionPool, wire: Buffer, dueMs: number): Promise<void> => {
    try {
      const { status, body } = await pool.ask(wire);
      if (status !== 201) throw new Error(`an order was answered with ${status}`);
      millis.push(performance.now() - dueMs);
      orderIds.push(/"id":"([^"]+)"/.exec(body)?.[1] ?? '');
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
    }
  };
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  for (let dueMs = startMs; dueMs < endMs && !signal?.aborted; ) {
    while (performance.now() < dueMs) await new Promise((later) => setTimeout(later, 1));
    const { pool, wire } = next();
    asked.push(ask(pool, wire, dueMs));
    dueMs += (-Math.log(1 - random()) / perSecond) * 1_000;
  }
  signal?.addEventListener('abort', next.close, { once: true });
  if (signal?.aborted) next.close();
  await Promise.all(asked);
  signal?.removeEventListener('abort', next.close);
  next.close();
  const { min, p50, p99, p999, mean, deviation } = summary(Float64Array.from(millis));
  const rates = { perSecond: millis.length / seconds, failed: faults.length };
  return { ...rates, min, p50, p99, p999, mean, deviation, millis, orderIds, faults };
}

/** The requests in their order, each with the connections that it goes over. */
function wiresOf({ url, orders, keyed = false }: PaceOptions) {
  const targets = [url].flat().map((one) => new URL(one));
  const pools = targets.map((target) => new ConnectionPool(target));
  const run = randomUUID();
  const plain = keyed ? [] : targets.map((target) => orders.map((order) => toWire(target, order)));
  let sent = 0;
  const next = (): { readonly pool: ConnectionPool; readonly wire: Buffer } => {
    const at = sent % targets.length;
    const order = sent % orders.length;
    sent++;
    const wire = plain[at]?.[order] ?? toWire(targets[at] as URL, orders[order] as OrderRequest, `${run}-${sent}`);
    return { pool: pools[at] as ConnectionPool, wire };
  };
  const close = (): void => {
    for (const pool of pools) pool.close();
  };
  return Object.assign(next, { close });
}

/** Where a service whose address is `url` creates orders. */
export const createPath = ({ pathname }: URL): string => `${pathname.replace(/\/+$/, '')}/orders/create`;

/** A request to create an order, as it goes over the wire. */
export function toWire(target: URL, { headers, body }: OrderRequest, key?: string): Buffer {
  const keyed = key === undefined ? headers : { ...headers, 'idempotency-key': key };
  const lines = Object.entries({ host: target.host, ...keyed, 'content-length': Buffer.byteLength(body) });
  const first = `POST ${createPath(target)} HTTP/1.1`;
  return Buffer.from(`${[first, ...lines.map((line) => line.join(': '))].join('\r\n')}\r\n\r\n${body}`);
}
