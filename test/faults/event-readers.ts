import type { StoreEvent } from '../../src/domain/store-event.ts';
import type { BenchStore } from '../harness/order-world.ts';
import type { Random } from '../harness/world.ts';
import { ask } from './phones.ts';
import { any } from './row.ts';
import { later, type World } from './world.ts';

const REQUEST_MS = 30_000;
const PAUSE_MS = 50;

export type Page = { readonly events: readonly StoreEvent[]; readonly next_cursor: string };

/** What a store's readers saw. */
export type Seen = {
  readonly store: BenchStore;
  /** By one who follows, waiting for each next event. */
  readonly followed: StoreEvent[];
  /** By those who read all pages from the first, one after the other. */
  readonly read: (readonly StoreEvent[])[];
};

/** Readers of every store: one follows its events, one reads them from the first again and again. */
export function startReaders(world: World, random: Random) {
  let isStopped = false;
  let failed = 0;
  const isOver = () => isStopped || world.isClosed();

  async function page(store: BenchStore, query: string): Promise<Page | null> {
    const url = `${any(world.apis, random).url()}/events?${query}`;
    const answer = await ask(url, { key: store.apiKey, withinMs: REQUEST_MS }).catch(() => null);
    if (answer?.status === 200) return answer.body as Page;
    failed++;
    return null;
  }

  async function follow({ store, followed }: Seen): Promise<void> {
    for (let cursor = '0'; !isOver(); ) {
      const next = await page(store, `after=${cursor}&wait=2&limit=${any([1, 3, 100], random)}`);
      if (next === null) await later(PAUSE_MS);
      followed.push(...(next?.events ?? []));
      cursor = next?.next_cursor ?? cursor;
    }
  }

  async function readAgain({ store, read }: Seen): Promise<void> {
    while (!isOver()) {
      const all: StoreEvent[] = [];
      for (let cursor = '0'; !isOver(); ) {
        const next = await page(store, `after=${cursor}&limit=100`);
        if (next === null) continue;
        all.push(...next.events);
        if (next.events.length === 0) break;
        cursor = next.next_cursor;
      }
      read.push(all);
      await later(PAUSE_MS * 20 * random());
    }
  }

  const seen = world.stores.map((store): Seen => ({ store, followed: [], read: [] }));
  const running = seen.flatMap((each) => [follow(each), readAgain(each)]);
  return {
    seen,
    /** How many requests had no page for an answer. */
    failed: () => failed,
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

/** Who follows sees each event once, and whoever reads from the first sees the beginning of the same. */
export function findMisread({
  store,
  followed,
  read,
}: Omit<Seen, 'store'> & { readonly store: { readonly id: string } }): string[] {
  const odd = followed.filter((event, i) => followed.slice(0, i).some((earlier) => isMisplaced(earlier, event)));
  const differing = read.filter((events) =>
    events.some((event, i) => JSON.stringify(event) !== JSON.stringify(followed[i] ?? event)),
  );
  return [
    ...odd.map(({ cursor }) => `events: the reader of ${store.id} saw ${cursor} out of order`),
    ...(differing.length > 0 ? [`events: ${differing.length} readings of ${store.id} differ`] : []),
  ];
}

/** Whether an event is the earlier one again, or one of the same order that happened before it. */
const isMisplaced = (earlier: StoreEvent, { cursor, data }: StoreEvent): boolean =>
  cursor === earlier.cursor ||
  (data.order_id === earlier.data.order_id && Number(data.sequence) < Number(earlier.data.sequence));
