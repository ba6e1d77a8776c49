import { WebSocket } from 'ws';
import type { Random } from '../harness/world.ts';
import { later, type World } from './world.ts';

const MOST_OPEN = 40;
const LOOK_MS = 200;
/** Longest random wait of a page whose socket was closed. */
const RETRY_MS = 100;
const CATCH_UP_MS = 15_000;
/** By which a process that stops sends its sockets on. */
const SERVICE_RESTART = 1012;

type Page = { readonly token: string; sequence: number; status: string; isFinal: boolean; socket: WebSocket | null };

/** Customers' pages of newest orders, each on a live socket until its order has ended. */
export function startPages({ sql, isClosed }: World, url: string, random: Random) {
  const pages: Page[] = [];
  const problems: string[] = [];
  let sentOn = 0;
  let longestMs = 0;
  let isStopped = false;
  const isOver = () => isStopped || isClosed();

  function open(page: Page, sinceMs: number): void {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/track/${page.token}/live`);
    page.socket = socket;
    let isFirst = true;
    socket.on('message', (data) => {
      const { type, order } = JSON.parse(String(data));
      if (type !== 'order') return;
      if (isFirst) longestMs = Math.max(longestMs, performance.now() - sinceMs);
      isFirst = false;
      if (order.sequence < page.sequence) return;
      Object.assign(page, { sequence: order.sequence, status: order.status, isFinal: order.final });
      if (page.isFinal) socket.close();
    });
    socket.on('error', (error) => isOver() || problems.push(`page: its socket failed: ${error.message}`));
    socket.on('close', (code) => void closed(page, code));
  }

  async function closed(page: Page, code: number): Promise<void> {
    page.socket = null;
    if (page.isFinal || isOver()) return;
    const sinceMs = performance.now();
    if (code === SERVICE_RESTART) sentOn++;
    else problems.push(`page: its socket was closed with ${code}`);
    await later(random() * RETRY_MS);
    if (!isOver()) open(page, sinceMs);
  }

  async function run(): Promise<void> {
    const known = new Set<string>();
    for (; !isOver(); await later(LOOK_MS)) {
      const room = MOST_OPEN - pages.filter(({ isFinal }) => !isFinal).length;
      const rows = await sql`
        select tracking_token as token from orders where status in ('pending_dispatch', 'driver_assigned', 'picked_up')
          and not (tracking_token = any(${[...known]}))
        order by created_at desc limit ${Math.max(0, room)}`;
      for (const { token } of rows) {
        const page = { token: String(token), sequence: 0, status: '', isFinal: false, socket: null };
        known.add(page.token);
        pages.push(page);
        open(page, performance.now());
      }
    }
  }

  /** Sentences of the pages that do not show what the tables say. */
  async function misses(): Promise<string[]> {
    const rows = await sql`
      select tracking_token as token, status from orders
      where tracking_token = any(${pages.map(({ token }) => token)})`;
    const statuses = new Map(rows.map(({ token, status }) => [token, status]));
    return pages.flatMap(({ token, status }) => {
      return status === statuses.get(token)
        ? []
        : [`page: it shows ${status || 'nothing'}, its order is ${statuses.get(token)}`];
    });
  }

  const running = run().catch((error: unknown) => void problems.push(`page: nobody looked: ${String(error)}`));
  return {
    /** Waits until the pages show what the tables say, and closes them; what went wrong. */
    async stop(): Promise<string[]> {
      const untilMs = performance.now() + CATCH_UP_MS;
      let missed = await misses();
      for (; missed.length > 0 && performance.now() < untilMs; missed = await misses()) await later(LOOK_MS);
      isStopped = true;
      await running;
      for (const { socket } of pages) socket?.terminate();
      return [...problems, ...missed];
    },
    /** How many pages there were, how often one was sent on, and the longest time without a socket. */
    seen: () => ({ pages: pages.length, sentOn, longestMs }),
  };
}
