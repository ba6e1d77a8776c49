/** Shortest time between two looks at the system's buffers, 20 ms of work where it has 20,000 connections. */
const UNSENT_LOOK_MS = 250;
/**
 * Time after which what a network was sent is looked for again, so that who has read all takes no memory. Above
 * the 8 to 12 s after which the transport cuts a connection that takes nothing.
 */
export const UNSENT_FORGOTTEN_MS = 15_000;

/** Who is to read a reply: the client's network, and that of its connection, which may be a proxy's. */
export type Reader = { readonly network: string; readonly peer: string };

/** The bytes that the system holds for each network of connections; null where it does not tell. */
export type ReadQueues = () => Promise<ReadonlyMap<string, number> | null>;

/**
 * Most bytes that one network has unread, and all together. A network with no more than `small` is given a reply up to
 * twice the total, so that a few that read nothing do not shut out the others.
 */
type UnsentBounds = { readonly perNetwork: number; readonly total: number; readonly small: number };

/** What a network has of large replies that is not known to be read. */
type Account = {
  readonly peer: string;
  /** Bytes kept in this process. */
  pending: number;
  /** Bytes that the system has taken, as far as it is not known to have passed them on. */
  handed: number;
  /** What of `handed` the look under way asks for. */
  asked: number;
};

/**
 * Bounds what networks, and all together, have unread of large replies. A system takes megabytes for each
 * connection and does not say when they are read, so all that was handed over counts; where that is too much,
 * the system's queues are looked at, at most once in UNSENT_LOOK_MS. They tell of peers alone: what a proxy has
 * unread counts for the networks behind it by what each was sent, once in all.
 */
export class UnsentReplies {
  readonly #bounds: UnsentBounds;
  readonly #readQueues: ReadQueues;
  readonly #accounts = new Map<string, Account>();
  #total = 0;
  #look: Promise<void> | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #isForgetting = false;

  constructor(bounds: UnsentBounds, readQueues: ReadQueues) {
    this.#bounds = bounds;
    this.#readQueues = readQueues;
  }

  /**
   * Counts a reply as `begin` does, where the network has read enough to be given it; else null. Known at once where
   * it surely has.
   */
  beginIfRead(reader: Reader, bytes: number): (() => void) | null | Promise<(() => void) | null> {
    const beginNow = () => (this.#fits(reader.network, bytes) ? this.begin(reader, bytes) : null);
    return beginNow() ?? this.#lookOnce().then(beginNow);
  }

  /** Counts a reply as kept in this process, until what it returns is called once: the system has it then. */
  begin({ network, peer }: Reader, bytes: number): () => void {
    const account = this.#accounts.get(network) ?? { peer, pending: 0, handed: 0, asked: 0 };
    this.#accounts.set(network, account);
    account.pending += bytes;
    this.#total += bytes;
    this.#forgetLater();
    return () => {
      account.pending -= bytes;
      account.handed += bytes;
    };
  }

  /** Whether this process may keep something that the system has not taken. */
  get isKeeping(): boolean {
    return [...this.#accounts.values()].some(({ pending }) => pending > 0);
  }

  /** Networks that may have something unread. */
  get networks(): number {
    return this.#accounts.size;
  }

  #fits(network: string, bytes: number): boolean {
    const { perNetwork, total, small } = this.#bounds;
    const account = this.#accounts.get(network);
    const unread = bytes + (account ? account.pending + account.handed : 0);
    return unread <= perNetwork && this.#total + bytes <= (unread <= small ? 2 * total : total);
  }

  #lookOnce(): Promise<void> {
    this.#look ??= this.#lookAtQueues().finally(() => {
      this.#look = null;
    });
    return this.#look;
  }

  async #lookAtQueues(): Promise<void> {
    const waitMs = this.#lookedMs + UNSENT_LOOK_MS - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const byPeer = new Map<string, number>();
    for (const account of this.#accounts.values()) {
      account.asked = account.handed;
      byPeer.set(account.peer, (byPeer.get(account.peer) ?? 0) + account.asked);
    }
    const queues = await this.#readQueues();
    this.#lookedMs = performance.now();
    for (const [network, account] of this.#accounts) {
      const { peer, asked } = account;
      const unreadShare = Math.min(1, (queues?.get(peer) ?? 0) / (byPeer.get(peer) || 1));
      const read = asked - Math.floor(asked * unreadShare);
      account.handed -= read;
      this.#total -= read;
      if (account.handed + account.pending === 0) this.#accounts.delete(network);
    }
  }

  /** Looks again and again while anything is counted, so that networks who read everything take no memory. */
  #forgetLater(): void {
    if (this.#isForgetting || this.#accounts.size === 0) return;
    this.#isForgetting = true;
    const forget = async () => {
      await this.#lookOnce();
      this.#isForgetting = false;
      this.#forgetLater();
    };
    setTimeout(() => void forget(), UNSENT_FORGOTTEN_MS).unref();
  }
}
