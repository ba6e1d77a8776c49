import { setTimeout as sleep } from 'node:timers/promises';

/** Longest latency that can be ordered from a stand-in over HTTP. */
const MAX_STAND_IN_DELAY_MS = 120_000;

/** `before`: the request takes no effect. `after`: it takes effect, and only its reply is spoilt. */
type Effect = 'before' | 'after';

export type Fault =
  /** Waits, then answers as usual. Meanwhile the request counts as in progress. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Never answers. */
  | { readonly kind: 'hang'; readonly effect: Effect }
  /** Resets the connection instead of answering. */
  | { readonly kind: 'reset'; readonly effect: Effect }
  /** Answers with this status. `sticky`: also to every later request with the same idempotency key. */
  | { readonly kind: 'status'; readonly status: number; readonly effect: Effect; readonly sticky: boolean }
  /** Answers with a page of HTML, as a proxy in front of the vendor. */
  | { readonly kind: 'page'; readonly status: number; readonly effect: Effect }
  | { readonly kind: 'rate_limit' };

export type FaultOrder = {
  /** One for each coming request, in this order; replaces an earlier list. */
  readonly next?: readonly Fault[];
  /** Added to every request from now on. */
  readonly latencyMs?: number;
  /** Called for the fault of every request from now on, before `next`. */
  readonly each?: ((request: { readonly method: string; readonly path: string }) => Fault | undefined) | null;
};

/** The faults ordered from a stand-in that are still to come. */
export class Faults {
  #next: Fault[] = [];
  #latencyMs = 0;
  #each: NonNullable<FaultOrder['each']> | null = null;

  order({ next, latencyMs, each }: FaultOrder): void {
    if (each !== undefined) this.#each = each;
    if (next) this.#next = [...next];
    if (latencyMs !== undefined) this.#latencyMs = latencyMs;
  }

  /** Takes the fault of the request that has just arrived. */
  take(request: { readonly method: string; readonly path: string }): Fault | undefined {
    return this.#each?.(request) ?? this.#next.shift();
  }

  /** Waits for the latency and delay of this request. */
  async pause(fault: Fault | undefined): Promise<void> {
    const ms = this.#latencyMs + (fault?.kind === 'delay' ? fault.ms : 0);
    if (ms > 0) await sleep(ms, undefined, { ref: false });
  }
}

/** Whether it is a latency that can be ordered. */
export const isDelay = (ms: unknown): ms is number => typeof ms === 'number' && ms >= 0 && ms <= MAX_STAND_IN_DELAY_MS;
