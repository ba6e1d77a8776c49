/** Time for which the transport keeps a closed WebSocket whose client does not close it too. */
export const CLOSING_SOCKET_MS = 16_000;
/** WebSockets of one kind dismissed with a reason in CLOSING_SOCKET_MS; further ones are cut without. */
export const MAX_CLOSING_SOCKETS = 1_000;

/** Counts the sockets that were told why they are dismissed, in windows of CLOSING_SOCKET_MS. */
export class Farewells {
  readonly #now: () => number;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether one more may be told, and stay open until its client closes it too. */
  take(): boolean {
    const nowMs = this.#now();
    if (nowMs - this.#sinceMs >= CLOSING_SOCKET_MS) {
      this.#sinceMs = nowMs;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= MAX_CLOSING_SOCKETS;
  }
}
