import type { WebSocket } from 'uWebSockets.js';
import { toBytes } from './bytes.ts';
import type { Farewells } from './farewells.ts';
import type { LiveSocket } from './live-socket.ts';

/** What uWebSockets.js keeps with a socket. */
export type Attached = { readonly data: unknown; live: SocketConnection | null };

/** What `send` of uWebSockets.js returns where too much waits for the reader; it then closes the socket. */
const DROPPED = 2;

/** One open WebSocket as a behaviour sees it. After the socket's end every call does nothing. */
export class SocketConnection implements LiveSocket<unknown> {
  readonly data: unknown;
  readonly #farewells: Farewells;
  #native: WebSocket<Attached> | null;

  constructor(native: WebSocket<Attached>, farewells: Farewells) {
    this.#native = native;
    this.#farewells = farewells;
    this.data = native.getUserData().data;
  }

  send(text: string): boolean {
    let isTaken = false;
    const native = this.#native;
    native?.cork(() => {
      isTaken = native.send(toBytes(text), false) !== DROPPED;
    });
    return isTaken;
  }

  close(code: number, reason: string): void {
    this.#native?.end(code, toBytes(reason));
  }

  dismiss(code: number, reason: string): void {
    if (this.#native && !this.#farewells.take()) this.cut();
    else this.close(code, reason);
  }

  cut(): void {
    this.#native?.close();
  }

  subscribe(topic: string): void {
    this.#native?.subscribe(toBytes(topic));
  }

  unsubscribe(topic: string): void {
    this.#native?.unsubscribe(toBytes(topic));
  }

  /** Runs `act` while this socket, and so no other connection, has its sends gathered. */
  corked(act: () => void): void {
    this.#native?.cork(act);
  }

  /** The native socket is gone and may no longer be touched. */
  detach(): void {
    this.#native = null;
  }
}
