import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** An order that a client wants, and what it sends to get it; everything by which it is found again. */
export type Wanted = {
  readonly op: number;
  readonly retailerId: string;
  /** Null for a client without an `Idempotency-Key`. */
  readonly key: string | null;
  /** Unlike any other's, so that the tables tell what came of the request though no reply did. */
  readonly customer: string;
  readonly smsOptIn: boolean;
  /** Without a key, and sends the same again after leaving, until it hears of an order. */
  readonly repeats?: boolean;
};

/**
 * What a client learnt of one attempt. `ok`: 201, so there is the order. `failed`: told that nothing happened. `unknown`: the
 * connection broke, or the answer promised nothing.
 */
export type Heard = {
  readonly op: number;
  readonly outcome: 'ok' | 'failed' | 'unknown';
  readonly status: number | null;
  readonly orderId: string | null;
};

export type History = {
  /** Writes it before it is sent, so that a harness that dies leaves no request behind that it forgot. */
  wants(...wanted: readonly Wanted[]): void;
  hears(heard: Heard): void;
  close(): void;
};

type Line = { readonly wants: Wanted } | { readonly hears: Heard };

/** The operations of the clients as JSON lines: before each is sent, and after each answer, as Jepsen's histories are. */
export function openHistory(file: string): History {
  const descriptor = openSync(file, 'w', 0o600);
  let isClosed = false;
  // Clients of a row that failed still hear answers; the row's own error is the one to be told.
  const append = (...lines: readonly Line[]): void => {
    if (!isClosed && lines.length > 0) writeSync(descriptor, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  };
  return {
    wants: (...all) => append(...all.map((wants) => ({ wants }))),
    hears: (hears) => append({ hears }),
    close() {
      isClosed = true;
      closeSync(descriptor);
    },
  };
}

export function readHistory(file: string): { readonly wanted: Wanted[]; readonly heard: Heard[] } {
  const wanted: Wanted[] = [];
  const heard: Heard[] = [];
  for (const text of readFileSync(file, 'utf8').split('\n')) {
    if (text === '') continue;
    const line = JSON.parse(text) as Line;
    if ('wants' in line) wanted.push(line.wants);
    else heard.push(line.hears);
  }
  return { wanted, heard };
}
