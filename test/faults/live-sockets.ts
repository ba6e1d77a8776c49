import { WebSocket } from 'ws';
import type { Random } from '../harness/world.ts';
import { later } from './world.ts';

/** Longest random wait of a client whose socket was closed. */
const RETRY_MS = 100;
/** By which a process that stops sends its sockets on. */
const SERVICE_RESTART = 1012;
/**
 * Longest time for which an open socket may show less than the tables say. A frame takes milliseconds; on cores that
 * start a process meanwhile it takes longer.
 */
export const BEHIND_MS = 2_000;

/** A client that is to have a socket until it is done. */
export type LiveClient = {
  /** What it is, in sentences. */
  readonly name: string;
  readonly path: string;
  /** What it says first. */
  readonly hello?: object;
  /** Returns whether this is a frame that the client came for. */
  hears(message: Record<string, unknown>): boolean;
  isDone(): boolean;
};

/** Keeps clients on sockets. One that is sent on comes back; whatever else ends a socket is a problem. */
export function keepSockets(url: string, random: Random, isOver: () => boolean) {
  const sockets = new Map<LiveClient, WebSocket>();
  const problems: string[] = [];
  let sentOn = 0;
  let longestMs = 0;

  function open(client: LiveClient, sinceMs: number): void {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}${client.path}`);
    sockets.set(client, socket);
    let isFirst = true;
    if (client.hello) socket.on('open', () => socket.send(JSON.stringify(client.hello)));
    socket.on('message', (data) => {
      if (!client.hears(JSON.parse(String(data)))) return;
      if (isFirst) longestMs = Math.max(longestMs, performance.now() - sinceMs);
      isFirst = false;
      if (client.isDone()) socket.close();
    });
    socket.on('error', (error) => isOver() || problems.push(`${client.name}: its socket failed: ${error.message}`));
    socket.on('close', (code) => void closed(client, code));
  }

  async function closed(client: LiveClient, code: number): Promise<void> {
    sockets.delete(client);
    if (client.isDone() || isOver()) return;
    const sinceMs = performance.now();
    if (code === SERVICE_RESTART) sentOn++;
    else problems.push(`${client.name}: its socket was closed with ${code}`);
    await later(random() * RETRY_MS);
    if (!isOver()) open(client, sinceMs);
  }

  return {
    open: (client: LiveClient) => open(client, performance.now()),
    isOpen: (client: LiveClient) => sockets.get(client)?.readyState === WebSocket.OPEN,
    problems,
    /** How often a client was sent on, and the longest time of one without a socket. */
    seen: () => ({ sentOn, longestMs }),
    close(): void {
      for (const socket of sockets.values()) socket.terminate();
    },
  };
}

/** What an order is for a client that is not to show it. */
const NOT_SHOWN = null;
/** How far an order is, by a number that only grows. */
type Progress = number | typeof NOT_SHOWN;
type Owed = { readonly progress: Progress; readonly sinceMs: number; isTold: boolean };

/** Judges, look by look, whether what open sockets show follows the tables. */
export class Follows {
  readonly #owed = new Map<string, Owed>();
  readonly #nowMs: () => number;
  readonly findings: string[] = [];
  longestMs = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** What the tables say of this order now, and what its client shows, on an open socket or on none. */
  look(what: string, isOpen: boolean, shown: Progress, said: Progress): void {
    const owed = this.#owed.get(what);
    if (!isOpen) this.#owed.delete(what);
    else if (hasCome(shown, said)) this.#settle(what);
    else if (!owed) this.#owed.set(what, { progress: said, sinceMs: this.#nowMs(), isTold: false });
    else this.#tell(what, owed, shown);
  }

  /** What a client shows from now on. */
  shows(what: string, shown: Progress): void {
    const owed = this.#owed.get(what);
    if (owed && hasCome(shown, owed.progress)) this.#settle(what);
  }

  #settle(what: string): void {
    const owed = this.#owed.get(what);
    if (owed) this.longestMs = Math.max(this.longestMs, this.#nowMs() - owed.sinceMs);
    this.#owed.delete(what);
  }

  #tell(what: string, owed: Owed, shown: Progress): void {
    if (owed.isTold || this.#nowMs() - owed.sinceMs <= BEHIND_MS) return;
    owed.isTold = true;
    const [shows, is] = [shown ?? 'nothing', owed.progress ?? 'gone'];
    const forMs = (this.#nowMs() - owed.sinceMs).toFixed(0);
    this.findings.push(`${what} shows ${shows} on an open socket, and has been ${is} for ${forMs} ms`);
  }
}

/** A later change makes up for an earlier one, as both show the whole order. */
const hasCome = (shown: Progress, said: Progress): boolean =>
  said === NOT_SHOWN ? shown === NOT_SHOWN : shown !== NOT_SHOWN && shown >= said;
