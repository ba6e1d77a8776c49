import type { OrderRequest } from './order-world.ts';
import { seeded } from './world.ts';

/** What came of a load; latencies of orders answered with 201, in milliseconds. */
export type LoadResult = {
  readonly perSecond: number;
  readonly min: number;
  readonly p50: number;
  readonly p99: number;
  readonly mean: number;
  readonly deviation: number;
  readonly orderIds: readonly string[];
  /** Errors, time-outs and statuses other than 201; any makes the run worthless. */
  readonly faults: readonly string[];
};

/** What is used of autocannon, which brings no types. */
type Client = {
  setRequests(requests: readonly { method: string; path: string; headers: object; body: string }[]): void;
  on(event: 'body', listener: (body: Buffer) => void): void;
};
type Result = {
  readonly duration: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>;
  readonly latency: Readonly<Record<'min' | 'p50' | 'p99' | 'average' | 'stddev', number>>;
};
type Autocannon = (options: object) => Promise<Result>;

const REQUESTS_EACH = 200;

/** As many orders as the service takes over so many connections, the next on each as soon as the last is answered. */
export async function burst(options: {
  readonly url: string;
  readonly orders: readonly OrderRequest[];
  readonly connections: number;
  readonly seconds: number;
}): Promise<LoadResult> {
  const { default: autocannon } = (await import('autocannon' as string)) as { default: Autocannon };
  const random = seeded(options.connections);
  const orderIds: string[] = [];
  const result = await autocannon({
    url: options.url,
    connections: options.connections,
    duration: options.seconds,
    timeout: 10,
    setupClient(client: Client) {
      // Each connection begins elsewhere, or all would send the orders of the same stores at once.
      const from = Math.floor(random() * options.orders.length);
      const requests = Array.from({ length: REQUESTS_EACH }, (_, i) => {
        const { headers, body } = options.orders[(from + i) % options.orders.length] as OrderRequest;
        return { method: 'POST', path: '/orders/create', headers, body };
      });
      client.setRequests(requests);
      client.on('body', (body) => {
        const text = body.toString('latin1');
        const at = text.indexOf('"order":{"id":"');
        if (at >= 0) orderIds.push(text.slice(at + 15, at + 51));
      });
    },
  });
  const { min, p50, p99, average: mean, stddev: deviation } = result.latency;
  const created = result.statusCodeStats['201']?.count ?? 0;
  return { perSecond: created / result.duration, min, p50, p99, mean, deviation, orderIds, faults: faultsOf(result) };
}

function faultsOf({ errors, timeouts, statusCodeStats }: Result): string[] {
  const statuses = Object.entries(statusCodeStats).filter(([status]) => status !== '201');
  return [
    ...statuses.map(([status, { count }]) => `${count} orders were answered with ${status}`),
    ...(errors > 0 ? [`${errors} errors, ${timeouts} of them time-outs`] : []),
    ...(statusCodeStats['201'] ? [] : ['no order was created']),
  ];
}
