import { vi } from 'vitest';
import type { LiveSocket, SocketBehaviour } from '../../src/transport/live-socket.ts';

/** What a client sees of a connection that ended without a close frame. */
export const CUT = 1006;

/** A socket that keeps what it was sent, and the topics it is subscribed to. */
export class MemorySocket<Data> implements LiveSocket<Data> {
  readonly data: Data;
  readonly received: Record<string, unknown>[] = [];
  readonly topics = new Set<string>();
  closed: { code: number; reason: string } | null = null;
  dismissed = false;
  readonly #behaviour: SocketBehaviour<Data>;

  constructor(behaviour: SocketBehaviour<Data>, data: Data) {
    this.#behaviour = behaviour;
    this.data = data;
    behaviour.opened(this);
  }

  send(text: string): boolean {
    if (this.closed) throw new Error('sent to a closed socket');
    this.received.push(JSON.parse(text));
    return true;
  }
  close(code: number, reason: string): void {
    if (this.closed) return;
    this.closed = { code, reason };
    this.topics.clear();
    this.#behaviour.closed(this);
  }
  dismiss(code: number, reason: string): void {
    this.dismissed = true;
    this.close(code, reason);
  }
  cut(): void {
    this.close(CUT, '');
  }
  subscribe(topic: string): void {
    this.topics.add(topic);
  }
  unsubscribe(topic: string): void {
    this.topics.delete(topic);
  }
  /** What the client says. */
  say(message: unknown): void {
    this.#behaviour.message(this, typeof message === 'string' ? message : JSON.stringify(message));
  }
  ofType(type: string): Record<string, unknown>[] {
    return this.received.filter((message) => message.type === type);
  }
}

/** Fakes the clock and its timers, but not the turns of the event loop, in which reads are gathered into statements. */
export function fakeClock(nowMs: number): void {
  vi.useFakeTimers({ now: nowMs, toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
}

/** Lets the reads that are under way come back, and all that follows from them. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((next) => setImmediate(next));
}

/** Lets time pass, and what is read because of it come back. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await settle();
}

/** Publishes to the sockets that subscribed, as the transport does. */
export function publisher(sockets: readonly MemorySocket<never>[] | readonly MemorySocket<unknown>[]) {
  return (topic: string, text: string) => {
    for (const socket of sockets) if (socket.topics.has(topic)) socket.send(text);
  };
}
