import { connect, type Socket } from 'node:net';
import type { LoadResult } from './burst.ts';
import type { OrderRequest } from './order-world.ts';
import { summary } from './timing.ts';
import { seeded } from './world.ts';

const ANSWER_MS = 10_000;
const MAX_LINES = 512;
/** A connection that was not used for so long is given up before the server does so, as HTTP clients do. */
const IDLE_MS = 4_000;
const SEED = 41;

/**
 * Sends requests at a given rate, at times that do not depend on the answers (a Poisson process, the same for the same
 * seed), each on a kept connection of its own. A latency counts from when the request was due, so that a server that
 * stalls makes all those late who would have come meanwhile.
 */
export async function pace(options: {
  readonly url: string;
  readonly orders: readonly OrderRequest[];
  readonly perSecond: number;
  readonly seconds: number;
}): Promise<LoadResult> {
  const { orders, perSecond, seconds } = options;
  const target = new URL(options.url);
  const wires = orders.map((order) => toWire(target, order));
  const random = seeded(SEED);
  const lines = new Lines(target);
  const millis: number[] = [];
  const orderIds: string[] = [];
  const faults: string[] = [];
  const asked: Promise<void>[] = [];
  const ask = async (wire: Buffer, dueMs: number): Promise<void> => {
    try {
      const { status, body } = await lines.ask(wire);
      if (status !== 201) throw new Error(`an order was answered with ${status}`);
      millis.push(performance.now() - dueMs);
      orderIds.push(/"id":"([^"]+)"/.exec(body)?.[1] ?? '');
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
    }
  };
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  for (let dueMs = startMs, i = 0; dueMs < endMs; i++) {
    while (performance.now() < dueMs) await new Promise((later) => setTimeout(later, 1));
    asked.push(ask(wires[i % wires.length] as Buffer, dueMs));
    dueMs += (-Math.log(1 - random()) / perSecond) * 1_000;
  }
  await Promise.all(asked);
  lines.close();
  const { min, p50, p99, mean, deviation } = summary(Float64Array.from(millis));
  return { perSecond: millis.length / seconds, min, p50, p99, mean, deviation, orderIds, faults };
}

/** A request to create an order, as it goes over the wire. */
export function toWire({ host }: URL, { headers, body }: OrderRequest): Buffer {
  const lines = Object.entries({ host, ...headers, 'content-length': Buffer.byteLength(body) });
  return Buffer.from(
    `POST /orders/create HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n${body}`,
  );
}

type Answer = { readonly status: number; readonly body: string };

/** Connections that each carry one request at a time; a request beyond them all waits for the first that is free. */
export class Lines {
  readonly #target: URL;
  readonly #most: number;
  readonly #idle: Line[] = [];
  readonly #all = new Set<Line>();
  readonly #waiting: ((line: Line) => void)[] = [];

  constructor(target: URL, most = MAX_LINES) {
    this.#target = target;
    this.#most = most;
  }

  async ask(wire: Buffer): Promise<Answer> {
    const line = await this.#take();
    try {
      return await line.ask(wire);
    } finally {
      this.#put(line);
    }
  }

  #put(line: Line): void {
    const next = this.#waiting.shift();
    if (next) next(line.isOpen ? line : this.#open(line));
    else this.#idle.push(line);
  }

  #take(): Promise<Line> | Line {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.isOpen && performance.now() - idle.usedMs < IDLE_MS) return idle;
      idle.close();
      this.#all.delete(idle);
    }
    if (this.#all.size === this.#most) return new Promise((resolve) => this.#waiting.push(resolve));
    return this.#open();
  }

  #open(instead?: Line): Line {
    if (instead) this.#all.delete(instead);
    const line = new Line(connect(Number(this.#target.port), this.#target.hostname));
    this.#all.add(line);
    return line;
  }

  close(): void {
    for (const line of this.#all) line.close();
  }
}

class Line {
  readonly #socket: Socket;
  /** When it was asked last. */
  usedMs = 0;
  #heard = '';
  #settle: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (chunk) => this.#hear(String(chunk)));
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('a connection was closed without an answer')));
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded;
  }

  ask(wire: Buffer): Promise<Answer> {
    this.usedMs = performance.now();
    return new Promise((resolve, reject) => {
      const late = (): void => {
        this.#settle?.reject(new Error('an order was not answered in time'));
        // Its answer may still come, and would be taken for the next one's.
        this.#socket.destroy();
      };
      const timer = setTimeout(late, ANSWER_MS);
      const done = <T>(settle: (value: T) => void) => {
        return (value: T): void => {
          clearTimeout(timer);
          this.#settle = undefined;
          settle(value);
        };
      };
      this.#settle = { resolve: done(resolve), reject: done(reject) };
      if (this.#socket.destroyed) this.#settle.reject(new Error('a connection was closed'));
      else this.#socket.write(wire);
    });
  }

  #hear(chunk: string): void {
    this.#heard += chunk;
    const headEnd = this.#heard.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#heard.slice(0, headEnd))?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) {
      this.#settle?.reject(new Error('an answer does not say how long it is'));
      return;
    }
    if (this.#heard.length < headEnd + 4 + length) return;
    const answer = {
      status: Number(this.#heard.slice(9, 12)),
      body: this.#heard.slice(headEnd + 4, headEnd + 4 + length),
    };
    this.#heard = this.#heard.slice(headEnd + 4 + length);
    this.#settle?.resolve(answer);
  }

  close(): void {
    this.#socket.destroy();
  }
}
