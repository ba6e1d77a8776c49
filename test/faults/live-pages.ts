import type { Random } from '../harness/world.ts';
import { Follows, keepSockets, type LiveClient } from './live-sockets.ts';
import { later, type World } from './world.ts';

const MOST_OPEN = 40;
const LOOK_MS = 200;
const CATCH_UP_MS = 15_000;

type Page = LiveClient & { readonly token: string; sequence: number; status: string; isFinal: boolean };

/**
 * Customers' pages of newest orders, each on a live socket until its order has ended. An open one is never behind the
 * tables for long.
 */
export function startPages({ sql, isClosed }: World, url: string, random: Random) {
  const pages: Page[] = [];
  const broken: string[] = [];
  let isStopped = false;
  const isOver = () => isStopped || isClosed();
  const sockets = keepSockets(url, random, isOver);
  const follows = new Follows();

  function newPage(token: string): Page {
    const page: Page = {
      name: 'page',
      path: `/track/${token}/live`,
      ...{ token, sequence: 0, status: '', isFinal: false },
      hears({ type, order }) {
        if (type !== 'order') return false;
        const { sequence, status, final: isFinal } = order as { sequence: number; status: string; final: boolean };
        if (sequence >= page.sequence) Object.assign(page, { sequence, status, isFinal });
        follows.shows(nameOf(page), page.sequence);
        return true;
      },
      isDone: () => page.isFinal,
    };
    return page;
  }

  /** What the tables say of these pages' orders, by token. */
  async function said(some: readonly Page[]): Promise<Map<string, { sequence: number; status: string }>> {
    const rows = await sql`
      select tracking_token as token, sequence, status from orders
      where tracking_token = any(${some.map(({ token }) => token)})`;
    return new Map(rows.map(({ token, sequence, status }) => [token, { sequence, status }]));
  }

  async function run(): Promise<void> {
    for (; !isOver(); await later(LOOK_MS)) {
      const open = pages.filter(({ isFinal }) => !isFinal);
      const orders = await said(open);
      for (const page of open) {
        const sequence = orders.get(page.token)?.sequence ?? null;
        follows.look(nameOf(page), sockets.isOpen(page), page.sequence, sequence);
      }
      const rows = await sql`
        select tracking_token as token from orders where status in ('pending_dispatch', 'driver_assigned', 'picked_up')
          and not (tracking_token = any(${pages.map(({ token }) => token)}))
        order by created_at desc limit ${Math.max(0, MOST_OPEN - open.length)}`;
      for (const { token } of rows) {
        const page = newPage(token);
        pages.push(page);
        sockets.open(page);
      }
    }
  }

  /** Sentences of the pages that do not show what the tables say. */
  async function misses(): Promise<string[]> {
    const orders = await said(pages);
    return pages.flatMap(({ token, status }) => {
      const is = orders.get(token)?.status;
      return status === is ? [] : [`page: it shows ${status || 'nothing'}, its order is ${is}`];
    });
  }

  const running = run().catch((error: unknown) => void broken.push(`page: nobody looked: ${String(error)}`));
  return {
    /** Waits until the pages show what the tables say, and closes them; what went wrong. */
    async stop(): Promise<string[]> {
      const untilMs = performance.now() + CATCH_UP_MS;
      let missed = await misses();
      for (; missed.length > 0 && performance.now() < untilMs; missed = await misses()) await later(LOOK_MS);
      isStopped = true;
      await running;
      sockets.close();
      return [...broken, ...sockets.problems, ...follows.findings, ...missed];
    },
    /** How many pages there were, how often one was sent on, and the longest times without a socket, and behind. */
    seen: () => ({ who: `${pages.length} pages`, ...sockets.seen(), behindMs: follows.longestMs }),
  };
}

const nameOf = ({ token }: Page): string => `page: ${token}`;
