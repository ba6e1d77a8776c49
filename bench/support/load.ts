import type { LoadResult } from '../../test/harness/burst.ts';
import type { OrderRequest } from '../../test/harness/order-world.ts';
import { createPath } from '../../test/harness/paced.ts';
import { summary } from '../../test/harness/timing.ts';
import { seeded } from '../../test/harness/world.ts';

/** The fault of a load without a single reply. */
export const NOTHING_ANSWERED = 'nothing was answered';

export type LoadOptions = {
  /** Connections are spread over several. */
  readonly url: string | readonly string[];
  readonly orders: readonly OrderRequest[];
  readonly connections: number;
  /** Length of the load, or its number of requests. */
  readonly seconds?: number;
  readonly amount?: number | undefined;
  /** Statuses besides 201 that are no failure. */
  readonly allowed?: readonly number[];
  /** Gives every request an idempotency key of its own. */
  readonly keyed?: boolean;
  /** Ends the load early. */
  readonly signal?: AbortSignal | undefined;
};

export type Loaded = LoadResult & {
  readonly created: number;
  /** Milliseconds of every answer, by status. */
  readonly millisBy: ReadonlyMap<number, readonly number[]>;
  /** Number of answers by error code. */
  readonly codes: ReadonlyMap<string, number>;
  /** 201s in each whole second. */
  readonly bySecond: readonly number[];
};

/** The used part of autocannon, which has no types. */
type Client = {
  setRequests(requests: readonly { method: string; path: string; headers: object; body: string }[]): void;
  on(event: 'body', listener: (body: Buffer) => void): void;
};
type Instance = PromiseLike<Result> & {
  stop(): void;
  on(event: 'response', listener: (client: Client, status: number, bytes: number, ms: number) => void): void;
};
type Result = { readonly errors: number; readonly timeouts: number };
type Autocannon = (options: object) => Instance;

const REQUESTS_KEPT = 12_800;
/** Fewest requests that a connection repeats. Keys make repeated ones differ. */
const LEAST_KEPT = 20;
const LEAST_KEPT_KEYED = 4;
/** What autocannon replaces by an id of each request. */
const OWN_ID = '[<id>]';
const TIMEOUT_SECONDS = 60;

/**
 * Sends orders with autocannon over this many connections, the next on each as soon as the last one is
 * answered, so that a slow service gets fewer (for a given rate see `pace`). The clock runs from before the
 * first connection is opened to the last answer. At the end requests without an answer are left; the service
 * may store them.
 */
export async function load(options: LoadOptions): Promise<Loaded> {
  const { default: autocannon } = (await import('autocannon' as string)) as { default: Autocannon };
  options.signal?.throwIfAborted();
  const heard = new Heard();
  const startedMs = performance.now();
  let lastMs = startedMs;
  const instance = autocannon({
    url: options.url,
    connections: options.connections,
    ...(options.amount === undefined ? { duration: options.seconds } : { amount: options.amount }),
    sampleInt: 100,
    timeout: TIMEOUT_SECONDS,
    idReplacement: options.keyed ?? false,
    setupClient: clientSetter(options, heard),
  });
  instance.on('response', (_client, status, _bytes, ms) => {
    lastMs = performance.now();
    heard.answer(Number(status), ms, (lastMs - startedMs) / 1_000);
  });
  const end = (): void => instance.stop();
  options.signal?.addEventListener('abort', end, { once: true });
  const { errors, timeouts } = await instance;
  options.signal?.removeEventListener('abort', end);
  options.signal?.throwIfAborted();
  const millis = heard.millisBy.get(201) ?? [];
  const { min, p50, p99, p999, mean, deviation } = summary(Float64Array.from(millis));
  return {
    perSecond: millis.length / ((lastMs - startedMs) / 1_000),
    created: millis.length,
    min,
    p50,
    p99,
    p999,
    mean,
    deviation,
    orderIds: heard.orderIds,
    millis,
    bySecond: heard.bySecond.slice(0, Math.floor((lastMs - startedMs) / 1_000)),
    failed: heard.answers - millis.length + errors,
    millisBy: heard.millisBy,
    codes: heard.codes,
    faults: faultsOf(heard, errors, timeouts, options.allowed ?? []),
  };
}

function clientSetter(options: LoadOptions, heard: Heard): (client: Client) => void {
  const { orders, connections, keyed = false } = options;
  const path = createPath(new URL([options.url].flat()[0] as string));
  const key = keyed ? { 'idempotency-key': OWN_ID } : {};
  const random = seeded(connections);
  const [most, least] = keyed ? [orders.length, LEAST_KEPT_KEYED] : [REQUESTS_KEPT, LEAST_KEPT];
  const each = Math.max(least, Math.floor(most / connections));
  return (client) => {
    // Each connection begins at another order, or all would send those of the same stores at once.
    const from = Math.floor(random() * orders.length);
    const requests = Array.from({ length: each }, (_, i) => {
      const { headers, body } = orders[(from + i) % orders.length] as OrderRequest;
      return { method: 'POST', path, headers: { ...headers, ...key }, body };
    });
    client.setRequests(requests);
    client.on('body', (body) => heard.body(body.toString('latin1')));
  };
}

class Heard {
  readonly millisBy = new Map<number, number[]>();
  readonly orderIds: string[] = [];
  readonly codes = new Map<string, number>();

  readonly bySecond: number[] = [];
  answers = 0;

  answer(status: number, ms: number, atSeconds: number): void {
    this.answers += 1;
    const second = Math.floor(atSeconds);
    while (this.bySecond.length <= second) this.bySecond.push(0);
    if (status === 201) this.bySecond[second] = (this.bySecond[second] as number) + 1;
    const millis = this.millisBy.get(status);
    if (millis) millis.push(ms);
    else this.millisBy.set(status, [ms]);
  }

  body(text: string): void {
    const at = text.indexOf('"order":{"id":"');
    if (at >= 0) this.orderIds.push(text.slice(at + 15, at + 51));
    const [, code] = at >= 0 ? [] : (/"code":"(\w+)"/.exec(text) ?? []);
    if (code) this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
  }
}

function faultsOf(heard: Heard, errors: number, timeouts: number, allowed: readonly number[]): string[] {
  const wrong = [...heard.millisBy].filter(([status]) => status !== 201 && !allowed.includes(status));
  return [
    ...wrong.map(([status, { length }]) => `${length} orders were answered with ${status}`),
    ...(errors > 0 ? [`${errors} errors, ${timeouts} of them time-outs`] : []),
    ...(heard.millisBy.size === 0 ? [NOTHING_ANSWERED] : []),
  ];
}
