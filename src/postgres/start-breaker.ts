import { errorFields, type Logger } from '../telemetry.ts';
import type { Breaker } from './breaker.ts';
import { connect, type Sql } from './connect.ts';
import { urlsOfHosts } from './hosts.ts';

/** Pause between two probes that ask whether the database answers. */
const DB_PROBE_EVERY_MS = 500;
/** The same while it does not answer: orders are refused until the probe after its return. */
const DB_PROBE_AWAY_EVERY_MS = 100;
/** Longest wait for a probe; then the database counts as away and statements are refused at once. */
export const DB_PROBE_MS = 1_500;
/**
 * Parts in which that wait is counted. A stall of this process counts as one part, however long it is, since
 * the answer may have arrived meanwhile.
 */
const DB_PROBE_PARTS = 15;

/** Shortest time from one opening of all connections anew to the next, as where the primary itself is read-only. */
const STANDBY_EVERY_MS = 5_000;

/** Every connection slot is taken: the database answers on existing connections. */
const NO_SLOT_LEFT = '53300';

/** The code of a probe that was not answered in time. */
const PROBE_LATE = 'PROBE_LATE';

const options = { applicationName: 'sameday probe', max: 1, deadlineMs: 0, statementTimeoutMs: DB_PROBE_MS };

/**
 * Probes the database every DB_PROBE_EVERY_MS on a connection of its own, and every DB_PROBE_AWAY_EVERY_MS while it
 * is away. The breaker is open from the first probe that fails, or is not answered within DB_PROBE_MS, to the first
 * that is answered. Other statements do not count: a slow one, a refused row or a lost connection says nothing about
 * the next one. Nor does time for which this process stood still, as on a busy machine.
 */
export function startBreaker(url: string, logger: Logger): Breaker & { close(): Promise<void> } {
  const listeners: (() => void)[] = [];
  const silenceListeners: (() => () => void)[] = [];
  const primaryListeners: ((host: number | null) => void)[] = [];
  /** What to do when the database answers again, where it has fallen silent. */
  let ends: (() => void)[] = [];
  let sql: Sql | null = null;
  let firstHost = 0;
  /** The host of the newest connection. */
  let dialled = 0;
  let sawStandbyMs = Number.NEGATIVE_INFINITY;
  let openedMs: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const hosts = urlsOfHosts(url).length;

  async function probe(): Promise<void> {
    try {
      await askHosts(hosts);
      answered();
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code === PROBE_LATE && ends.length === 0) ends = silenceListeners.map((listener) => listener());
      if (code !== NO_SLOT_LEFT) failed(error);
    }
    const pauseMs = openedMs === null ? DB_PROBE_EVERY_MS : DB_PROBE_AWAY_EVERY_MS;
    if (!isClosed) timer = setTimeout(() => void probe(), pauseMs);
  }

  /** Asks one host, and where it refuses, as a standby does, up to `left` in turn. */
  async function askHosts(left: number): Promise<void> {
    // A new client after each failure: one that lost a connection would not look whether its next leads to a standby.
    sql ??= connect({ ...options, url, firstHost, onDial: (host) => (dialled = host) });
    try {
      await inTime(sql`select 1`);
    } catch (error) {
      // The next question goes to the next host on a new connection, as this one may swallow every question.
      void sql.end({ timeout: 0 });
      sql = null;
      firstHost++;
      if (left <= 1 || isClosed || (error as { code?: unknown }).code === PROBE_LATE) throw error;
      await askHosts(left - 1);
    }
  }

  function answered(): void {
    if (hosts > 1) for (const listener of primaryListeners) listener(dialled);
    for (const end of ends.splice(0)) end();
    if (openedMs === null) return;
    const ms = Math.round(performance.now() - openedMs);
    openedMs = null;
    logger.warn({ ms }, 'the database answers again');
  }

  function failed(error: unknown): void {
    if (openedMs !== null || isClosed) return;
    openedMs = performance.now();
    logger.error(
      { err: errorFields(error) },
      'the database does not answer; requests that need it are refused until it does',
    );
    for (const listener of listeners) listener();
  }

  void probe();
  return {
    isOpen: () => openedMs !== null,
    onOpen: (listener) => void listeners.push(listener),
    onSilence: (listener) => void silenceListeners.push(listener),
    onPrimary: (listener) => void primaryListeners.push(listener),
    sawStandby() {
      const nowMs = performance.now();
      if (nowMs - sawStandbyMs < STANDBY_EVERY_MS) return;
      sawStandbyMs = nowMs;
      for (const listener of primaryListeners) listener(null);
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await sql?.end({ timeout: 1 });
    },
  };
}

/** Gives what the probe gives, or rejects once this process has waited for it in all of DB_PROBE_PARTS. */
async function inTime(probe: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    let parts = 0;
    timer = setInterval(() => {
      if (++parts === DB_PROBE_PARTS) reject(probeLate());
    }, DB_PROBE_MS / DB_PROBE_PARTS);
  });
  try {
    await Promise.race([probe, late]);
  } finally {
    clearInterval(timer);
  }
}

const probeLate = (): Error => Object.assign(new Error('The database did not answer in time'), { code: PROBE_LATE });
