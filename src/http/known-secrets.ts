import type { LastWord } from '../bus/last-word.ts';
import { FIRST_ID, secretMark } from '../domain/ids.ts';
import type { SecretRow } from '../store/accounts/secrets.ts';
import { withTimeout } from '../with-timeout.ts';

/** Where the secrets of one kind are read. */
export type SecretTable = {
  /** At most `limit`, in the order of their ids, after `afterId`; fewer only at the end. */
  list(afterId: string, limit: number): Promise<readonly SecretRow[]>;
  /** All of these holders, with whole hashes. */
  listOf(holderIds: readonly string[]): Promise<readonly SecretRow[]>;
};

export type KnownSecretsBounds = {
  /** Most secrets that are held; with more of them it is never current. */
  readonly most: number;
  /** Secrets that one statement reads. */
  readonly part: number;
  /** Longest wait for a notice's holders to be read. */
  readonly waitMs: number;
};

/**
 * The secrets of one kind that the tables hold, so that a made-up one costs no look-up. It is read at the
 * start and after listening was interrupted, and kept by notices. A revoked one may stay in it; one that
 * `isCurrent` and not in it is nobody's.
 */
export class KnownSecrets {
  readonly #table: SecretTable;
  readonly #lastWord: Pick<LastWord, 'caughtUp'>;
  readonly #bounds: KnownSecretsBounds;
  #marks = new Set<string>();
  /** Sets that are being read, which get what notices change meanwhile. */
  readonly #coming = new Set<Set<string>>();
  /** Holders whose notice came and who are not read yet, each with the number of its last notice. */
  readonly #unread = new Map<string, number>();
  #notices = 0;
  #interruptions = 0;
  /** Number of interruptions up to which everything was read. */
  #readUpTo = -1;
  #isFull = false;
  #untilRead: Promise<void> | null = null;
  #allRead = () => {};

  constructor(table: SecretTable, lastWord: Pick<LastWord, 'caughtUp'>, bounds: KnownSecretsBounds) {
    this.#table = table;
    this.#lastWord = lastWord;
    this.#bounds = bounds;
  }

  has(secretHash: string): boolean {
    return this.#marks.has(secretMark(secretHash));
  }

  /** Whether it holds every secret that was committed before this call. Never rejects. */
  async isCurrent(): Promise<boolean> {
    if (!this.#isWhole() || !(await this.#lastWord.caughtUp())) return false;
    if (this.#unread.size > 0) await this.#reading();
    return this.#isWhole() && this.#unread.size === 0;
  }

  /** Holds a secret that was looked up while it was not current. */
  add(secretHash: string): void {
    for (const marks of [this.#marks, ...this.#coming]) {
      if (marks.size < this.#bounds.most) marks.add(secretMark(secretHash));
    }
  }

  /** Listening was interrupted: it is not current until it is read anew. */
  interrupted(): void {
    this.#interruptions++;
  }

  /** A notice of these holders came: it is not current until they are read. */
  noticed(holderIds: readonly string[]): void {
    this.#notices++;
    for (const id of holderIds) this.#unread.set(id, this.#notices);
  }

  /** Reads these holders; returns the hashes of their revoked secrets. */
  async read(holderIds: readonly string[]): Promise<string[]> {
    const before = this.#notices;
    const rows = await this.#table.listOf(holderIds);
    for (const { hash, isRevoked } of rows) {
      if (!isRevoked) this.add(hash);
      else for (const marks of [this.#marks, ...this.#coming]) marks.delete(secretMark(hash));
    }
    this.#isFull ||= this.#marks.size >= this.#bounds.most;
    this.#markRead(holderIds, before);
    return rows.filter(({ isRevoked }) => isRevoked).map(({ hash }) => hash);
  }

  /** Reads everything. */
  async readAll(): Promise<void> {
    const [notices, interruptions] = [this.#notices, this.#interruptions];
    const { most, part } = this.#bounds;
    const marks = new Set<string>();
    this.#coming.add(marks);
    try {
      for (let afterId: string | undefined = FIRST_ID; afterId !== undefined && marks.size < most; ) {
        const rows: readonly SecretRow[] = await this.#table.list(afterId, part);
        for (const { hash } of rows) if (marks.size < most) marks.add(secretMark(hash));
        afterId = rows.length < part ? undefined : rows.at(-1)?.id;
      }
    } finally {
      this.#coming.delete(marks);
    }
    // A reading that began later, after an interruption that this one has missed, is better.
    if (interruptions < this.#readUpTo) return;
    this.#marks = marks;
    this.#isFull = marks.size >= most;
    this.#readUpTo = interruptions;
    this.#markRead([...this.#unread.keys()], notices);
  }

  #isWhole(): boolean {
    return this.#readUpTo === this.#interruptions && !this.#isFull;
  }

  /** Waits until every holder is read that had a notice, or for `waitMs`. */
  #reading(): Promise<void> {
    const allRead = () =>
      new Promise<void>((resolve) => {
        this.#allRead = resolve;
      });
    this.#untilRead ??= withTimeout(allRead(), this.#bounds.waitMs, () => new Error('Not read in time'))
      .catch(() => undefined)
      .finally(() => {
        this.#untilRead = null;
      });
    return this.#untilRead;
  }

  /** Of holders that had another notice since, the rows may be older than that. */
  #markRead(holderIds: readonly string[], upToNotice: number): void {
    for (const id of holderIds) if ((this.#unread.get(id) ?? 0) <= upToNotice) this.#unread.delete(id);
    if (this.#unread.size === 0) this.#allRead();
  }
}
