import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** An order that a client wants, and the request for it. */
export type Wanted = {
  readonly op: number;
  readonly retailerId: string;
  /** Null for a client without an `Idempotency-Key`. */
  readonly key: string | null;
  /** Unique, so that the tables tell what became of a request without a reply. */
  readonly customer: string;
  readonly smsOptIn: boolean;
  /** Without a key: leaves and sends the same request again until it gets an order. */
  readonly repeats?: boolean;
};

/**
 * What a client learnt of one attempt. `ok`: 201, so the order exists. `failed`: the answer says that nothing
 * happened. `unknown`: the connection broke, or the answer promised nothing.
 */
export type Heard = {
  readonly op: number;
  readonly outcome: 'ok' | 'failed' | 'unknown';
  readonly status: number | null;
  readonly orderId: string | null;
};

export type History = {
  /** Written before the request is sent, so that a harness that dies forgets no request. */
  wants(...wanted: readonly Wanted[]): void;
  hears(heard: Heard): void;
  close(): void;
};

type Line = { readonly wants: Wanted } | { readonly hears: Heard };

/**
 * The clients' operations as JSON lines, one before each request and one after each answer, as in Jepsen's
 * histories.
 */
export function openHistory(file: string): History {
  const descriptor = openSync(file, 'w', 0o600);
  let isClosed = false;
  // Clients of a failed row still get answers, but the row's own error is the one to report.
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
