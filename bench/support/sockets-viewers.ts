import { setTimeout as sleep } from 'node:timers/promises';
import { doAtOnce } from './at-once.ts';
import { serve } from './sockets-child.ts';
import { clockMs, Line } from './sockets-line.ts';
import { ProblemList, type Problems } from './sockets-problems.ts';
import { trackingToken } from './sockets-world.ts';

const OPENING_AT_ONCE = 100;
const PATIENCE_MS = 120_000;
/** Time after the last expected frame, in which a surplus one would show. */
const SURPLUS_MS = 200;

/** Opens `each` sockets on every one of these orders. */
export type Opening = { readonly port: number; readonly orders: readonly number[]; readonly each: number };
/** Frames since the last call, one entry each; `order` is the order's number. */
export type Heard = {
  readonly order: Int32Array;
  readonly socket: Int32Array;
  readonly sequence: Int32Array;
  readonly atMs: Float64Array;
};

type Viewer = { readonly order: number; line: Line | null; sequence: number; opened: () => void };
/** Kept as received, as parsing it would delay the next one and its time. */
type Frame = { readonly socket: number; readonly payload: Buffer; readonly atMs: number };

/** Calls from the parent to a process that plays the customers' pages. */
export function serveViewers(): void {
  let viewers = new Viewers();
  serve({
    open: (opening: Opening) => viewers.open(opening),
    heard: ({ count }: { count: number }) => viewers.heard(count),
    problems: () => viewers.problems(),
    close() {
      viewers.close();
      viewers = new Viewers();
    },
  });
}

class Viewers {
  #viewers: Viewer[] = [];
  #frames: Frame[] = [];
  readonly #problems = new ProblemList();

  /** Resolves with the time until every socket has its order. */
  async open({ port, orders, each }: Opening): Promise<number> {
    const startedMs = clockMs();
    this.#viewers = orders.flatMap((order) =>
      Array.from({ length: each }, () => ({ order, line: null, sequence: 0, opened: () => undefined })),
    );
    await doAtOnce(this.#viewers.length, OPENING_AT_ONCE, (index) => this.#openOne(port, index));
    const tookMs = clockMs() - startedMs;
    await this.heard(0);
    return tookMs;
  }

  async #openOne(port: number, socket: number): Promise<void> {
    const viewer = this.#viewers[socket] as Viewer;
    const snapshot = new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('a page was not sent its order')), PATIENCE_MS);
      viewer.opened = () => {
        clearTimeout(late);
        resolve();
      };
    });
    viewer.line = await Line.open(port, `/track/${trackingToken(viewer.order)}/live`, {
      text: (payload, atMs) => {
        this.#frames.push({ socket, payload, atMs });
        viewer.opened();
      },
      ended: (why) => this.#problems.add(`a page's socket ended: ${why}`),
    });
    await snapshot;
  }

  /** Waits for this many frames, and a little for surplus ones. */
  async heard(count: number): Promise<Heard> {
    const endMs = clockMs() + PATIENCE_MS;
    while (this.#frames.length < count && clockMs() < endMs) await sleep(2);
    await sleep(SURPLUS_MS);
    const frames = this.#frames;
    this.#frames = [];
    const sequence = frames.map((frame) => this.#read(frame));
    return {
      order: Int32Array.from(frames, ({ socket }) => (this.#viewers[socket] as Viewer).order),
      socket: Int32Array.from(frames, ({ socket }) => socket),
      sequence: Int32Array.from(sequence),
      atMs: Float64Array.from(frames, ({ atMs }) => atMs),
    };
  }

  #read({ socket, payload }: Frame): number {
    const viewer = this.#viewers[socket] as Viewer;
    const { type, order } = JSON.parse(payload.toString()) as { type: string; order?: { sequence: number } };
    if (type !== 'order' || !order) {
      this.#problems.add(`a page was told: ${payload.toString()}`);
      return -1;
    }
    if (order.sequence < viewer.sequence) this.#problems.add('a page was told an older state');
    viewer.sequence = order.sequence;
    return order.sequence;
  }

  problems(): Problems {
    return this.#problems.told();
  }

  close(): void {
    for (const { line } of this.#viewers) line?.close();
  }
}
