import { connect as dial, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { below, DB_CONNECTIONS, QUERY_DEADLINE_MS, STATEMENT_TIMEOUT_MS } from '../limits.ts';
import type { Breaker } from './breaker.ts';
import { boundStatements } from './deadline.ts';
import { urlsOfHosts } from './hosts.ts';
import { type Host, hostOf, readUrl } from './read-url.ts';
import { ARRAY_OF_ELEMENT, CLIENT_TYPES } from './types.ts';

/** Silence beyond the statement time-out after which a connection that owes an answer counts as dead. */
const DB_SILENCE_GRACE_MS = 2_000;
/** Longest time to open a connection and log in; then the attempt is given up and made again. */
const DB_CONNECT_TIMEOUT_MS = 4_000;
/**
 * Age below which a connection that ends is taken for refused: by a standby, or by a balancer without a primary. Above
 * DB_CONNECT_TIMEOUT_MS, as a far standby takes long to log in.
 */
const DB_REFUSED_MS = 5_000;
/** Pause before a connection to hosts that all refuse. The client itself would try again without any. */
const DB_REDIAL_MS = 200;
/** Most statements of one process that wait for an answer; one more is refused with 503. */
const MAX_PENDING_QUERIES = 5_000;

below({ DB_CONNECT_TIMEOUT_MS }, { DB_REFUSED_MS });

export type Sql = postgres.Sql;

/**
 * Opens a pool of connections. Nothing is sent before the first statement.
 *
 * Array parameters must be cast (`${ids}::uuid[]`). An array whose first element is a boolean or a Date must
 * also be marked (`sql.array(flags, TYPES.bool.array)`), because the client takes an unmarked one for a single
 * value. `int8` is read as a number if that is exact, else as a bigint; `timestamptz` is read as a Date.
 *
 * The server ends a statement after `statementTimeoutMs`, lock waits included; 0 for never. This process
 * waits for a statement at most `deadlineMs`, the wait for a connection included, and for at most
 * MAX_PENDING_QUERIES statements at once; a `deadlineMs` of 0 lifts both bounds. See `boundStatements`. If a
 * statement was sent and is not answered in time, connections that stay silent for longer than a statement
 * may take are destroyed, so that a link that swallows packets does not hold the pool. So are those that were
 * silent while the database was.
 *
 * Every connection leads to a primary: one to a standby is closed, and the next host of the URL is tried. A pool
 * stays with a host until it is refused there.
 *
 * TLS is set in the URL: `sslmode=disable|prefer|require|verify-ca|verify-full`, `sslrootcert=<file>` or
 * `system`.
 */
export function connect(options: {
  readonly url: string;
  /** The path of the server's Unix socket, in the place of the URL's host and port. */
  readonly socket?: string;
  /** Most connections at once. */
  readonly max?: number;
  readonly applicationName: string;
  /**
   * For statements that name their rows: has them read by an index wherever there is one. Postgres keeps the plan that
   * a connection made first, such as a scan of the tables of a new service, which were nearly empty then.
   */
  readonly byIndex?: boolean;
  readonly statementTimeoutMs?: number;
  readonly deadlineMs?: number;
  /** Time after which an idle connection is closed; never by default. */
  readonly idleMs?: number;
  /** Index of the host in the URL that is tried first. By default 0. */
  readonly firstHost?: number;
  /** Called with the number of the host that a connection is opened to. */
  readonly onDial?: (host: number) => void;
  /** Refuses statements at once while the database is away, and says which host is the primary. */
  readonly breaker?: Breaker;
  readonly onnotice?: (notice: { readonly [field: string]: string }) => void;
}): Sql {
  const { url, tls } = readUrl(options.url);
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const urls = urlsOfHosts(url);
  const sockets = createSockets(urls.map(hostOf), options.firstHost ?? 0, options.onDial);
  // The client knows one host alone. With several it keeps a statement that was sent on a connection that is lost at
  // once, and answers it with no rows on the next one (postgres 3.4.9, `error` in its connection.js).
  const sql = postgres(urls[0] as string, {
    ...(options.socket === undefined ? {} : { path: options.socket }),
    max: options.max ?? DB_CONNECTIONS,
    fetch_types: false,
    types: CLIENT_TYPES as Record<string, postgres.PostgresType>,
    connect_timeout: DB_CONNECT_TIMEOUT_MS / 1000,
    idle_timeout: options.idleMs === undefined ? undefined : options.idleMs / 1000,
    max_lifetime: null,
    keep_alive: 30,
    // Its `read-write` takes a standby for a primary (postgres 3.4.9). It does not look at all where the connection
    // before was lost with a statement on it, so that `keepToPrimary` closes what leads elsewhere.
    target_session_attrs: 'primary',
    // In seconds, at most 0.2: the client's own backoff of up to 20 s would leave a recovered database unused. Few
    // statements wait so, as the breaker opens.
    backoff: (retries) => Math.min(2 ** retries / 100, 0.2) * (0.5 + Math.random() / 2),
    onnotice: options.onnotice ?? (() => undefined),
    connection: {
      application_name: options.applicationName,
      statement_timeout: statementTimeoutMs,
      // Before Postgres 18 a scan without a choice counts as so dear that it would be compiled each time.
      ...(options.byIndex ? { enable_seqscan: 'off', jit: 'off' } : {}),
      TimeZone: 'UTC',
    },
    ...(tls === undefined ? {} : { ssl: tls }),
    // Read by the client, missing in its types.
    ...{ socket: sockets.open },
  });
  Object.assign((sql.options as unknown as { shared: { typeArrayMap: object } }).shared.typeArrayMap, ARRAY_OF_ELEMENT);
  const { end } = sql;
  Object.assign(sql, { end: (within?: { timeout?: number }) => end(within).finally(sockets.close) });
  // What was owed when the database fell silent has been given up.
  options.breaker?.onSilence(sockets.watch);
  options.breaker?.onPrimary(sockets.keepToPrimary);
  const deadlineMs = options.deadlineMs ?? QUERY_DEADLINE_MS;
  const pool = sql as unknown as Sql;
  const bounds = {
    deadlineMs,
    maxPending: MAX_PENDING_QUERIES,
    ...(options.breaker ? { breaker: options.breaker } : {}),
    onUnanswered: () => statementTimeoutMs > 0 && sockets.destroySilent(statementTimeoutMs + DB_SILENCE_GRACE_MS),
  };
  const opened = deadlineMs === 0 ? pool : boundStatements(pool, bounds);
  listening.set(opened, sockets.destroyListening);
  return opened;
}

/** What destroys the connection of a pool that listens. */
const listening = new WeakMap<Sql, () => void>();

/**
 * Opens the connection anew on which a pool listens. The client listens again where it lost the connection, and never
 * where the statement was refused (postgres 3.4.9, `listen` in its index.js); nor does it look whether a link still
 * carries anything.
 */
export function listenAnew(sql: Sql): void {
  listening.get(sql)?.();
}

/** Where the client wants to connect to; a path is that of a Unix socket. */
type Address = {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
  /** What a connection is for that listens; others have none. */
  readonly onnotify?: unknown;
};

function createSockets(
  hosts: readonly (Host | null)[],
  firstHost: number,
  onDial: (host: number) => void = () => undefined,
) {
  const all = new Map<Socket, { readonly host: number; readonly listens: boolean; readonly openedMs: number }>();
  let turn = firstHost;
  /** Number of hosts that have refused in a row. */
  let refusals = 0;
  let checking = false;
  let isClosed = false;

  /** Goes on to the next host where one has refused. Under TLS a socket has no event of its end here. */
  function judge(nowMs: number): void {
    for (const [socket, { host, openedMs }] of all) {
      const isYoung = nowMs - openedMs < DB_REFUSED_MS;
      if (!socket.destroyed) {
        if (!isYoung && host === turn) refusals = 0;
        continue;
      }
      all.delete(socket);
      if (host !== turn || !(isYoung || socket.bytesRead === 0)) continue;
      turn++;
      refusals++;
    }
  }

  /** Returns a function that destroys the sockets that have received nothing meanwhile. Idle ones are replaced. */
  const watch = (): (() => void) => {
    const before = [...all.keys()].map((socket) => ({ socket, bytesRead: socket.bytesRead }));
    return () => {
      const silent = before.filter(({ socket, bytesRead }) => !socket.destroyed && socket.bytesRead === bytesRead);
      for (const { socket } of silent) socket.destroy();
    };
  };

  return {
    /** Opens the pool's next socket, to the host that answered last, or else to the next one. */
    async open({ host: [ownHost = 'localhost'], port: [ownPort = 5432], path, onnotify }: Address): Promise<Socket> {
      judge(performance.now());
      if (refusals >= hosts.length) await pause(DB_REDIAL_MS * (0.5 + Math.random() / 2));
      if (isClosed) throw Object.assign(new Error('The pool is closed'), { code: 'CONNECTION_ENDED' });
      onDial(turn % hosts.length);
      const { host, port } = hosts[turn % hosts.length] ?? { host: ownHost, port: ownPort };
      const socket = path ? dial(path) : dial(port, host);
      // The client passes this property to TLS as the server's name.
      Object.assign(socket, { host, port });
      all.set(socket, { host: turn, listens: onnotify !== undefined, openedMs: performance.now() });
      return socket;
    },
    watch,
    /** Destroys the sockets to other hosts than this one, or all where it is not known. */
    keepToPrimary(primary: number | null): void {
      const isElsewhere = (host: number): boolean => primary === null || host % hosts.length !== primary;
      while (primary !== null && isElsewhere(turn)) turn++;
      for (const [socket, { host }] of all) if (isElsewhere(host)) socket.destroy();
    },
    /** Destroys those that receive nothing for `silenceMs` from now. */
    destroySilent(silenceMs: number): void {
      if (checking) return;
      checking = true;
      const destroy = watch();
      const check = (): void => {
        checking = false;
        destroy();
      };
      setTimeout(check, silenceMs).unref();
    },
    /** Destroys the one on which the pool listens. */
    destroyListening(): void {
      for (const [socket, { listens }] of all) if (listens) socket.destroy();
    },
    /**
     * Opens no more sockets and destroys those that are left. The client forgets one that is still opening: it would
     * log in and stay (postgres 3.4.9, `terminate` in its connection.js).
     */
    close(): void {
      isClosed = true;
      for (const socket of all.keys()) socket.destroy();
    },
  };
}
