import { createHash, randomUUID } from 'node:crypto';
import { type Ledger, openLedger } from './ledger.ts';
import { LatestRecords, type StandInRequest } from './stand-in.ts';
import { StripeEvents } from './stripe-events.ts';
import type { Customer, Detached, Dispute, Made, Marks, Payment, Refund, Session } from './stripe-objects.ts';

/** A failure that Stripe repeats under an idempotency key. */
export type Failure = Made<'failure'> & { readonly status: number };

export type StripeEntry = Payment | Refund | Customer | Session | Detached | Dispute | Failure;
type Kind = StripeEntry['type'];
type EntryOf<Type extends Kind> = Extract<StripeEntry, { readonly type: Type }>;

/** What the stand-in of Stripe did, in a file and in memory, and the events that tell of it. */
export class StripeRecords {
  readonly events = new StripeEvents();
  /** The time in milliseconds. */
  readonly now: () => number;
  readonly #ledger: Ledger<StripeEntry>;
  readonly #entries: LatestRecords<StripeEntry>;
  readonly #byKey: LatestRecords<StripeEntry>;
  /** The refunds of a payment, by their ids. */
  readonly #refunds: LatestRecords<Map<string, Refund>>;

  constructor(ledgerFile: string, maxRecords: number | undefined, now: () => number) {
    this.now = now;
    this.#entries = new LatestRecords(maxRecords);
    this.#byKey = new LatestRecords(maxRecords);
    this.#refunds = new LatestRecords(maxRecords);
    this.#ledger = openLedger<StripeEntry>(ledgerFile, (entry) => this.#keep(entry));
  }

  /** The last state of each, in the order in which they were made. */
  entries(): readonly StripeEntry[] {
    return [...this.#entries.values()];
  }

  find<Type extends Kind>(type: Type, id: string): EntryOf<Type> | undefined {
    const entry = this.#entries.get(id);
    return entry?.type === type ? (entry as EntryOf<Type>) : undefined;
  }

  /** What was first done under an idempotency key. */
  underKey(key: string): StripeEntry | undefined {
    return this.#byKey.get(key);
  }

  payments(): Payment[] {
    return this.entries().filter((entry) => entry.type === 'payment');
  }

  refundsOf(paymentIntent: string): readonly Refund[] {
    return [...(this.#refunds.get(paymentIntent)?.values() ?? [])];
  }

  /** Writes an entry, or a new state of one. */
  write<Entry extends StripeEntry>(entry: Entry): Entry {
    this.#ledger.append(entry);
    this.#keep(entry);
    return entry;
  }

  /** The time as Stripe's API has it. */
  seconds(): number {
    return Math.floor(this.now() / 1_000);
  }

  newId(prefix: string): string {
    // As long as Stripe's; Node draws UUIDs in advance, which costs far less than bytes of its own.
    return `${prefix}_${randomUUID().replaceAll('-', '').slice(-24)}`;
  }

  marksOf(request: StandInRequest): Marks {
    return { key: keyOf(request), fingerprint: fingerprint(request) };
  }

  close(): void {
    this.events.close();
    this.#ledger.close();
  }

  #keep(entry: StripeEntry): void {
    this.#entries.set(entry.id, entry);
    const isFirst = entry.key !== null && (entry.type === 'failure' || !this.#byKey.has(entry.key));
    if (entry.key !== null && isFirst) this.#byKey.set(entry.key, entry);
    if (entry.type !== 'refund') return;
    const refunds = this.#refunds.get(entry.paymentIntent) ?? new Map<string, Refund>();
    this.#refunds.set(entry.paymentIntent, refunds.set(entry.id, entry));
  }
}

export function keyOf({ headers }: StandInRequest): string | null {
  const key = headers['idempotency-key'];
  return typeof key === 'string' && key !== '' ? key : null;
}

export function fingerprint({ path, body }: StandInRequest): string {
  return createHash('sha256').update(`${path}\n${body}`).digest('base64url');
}
