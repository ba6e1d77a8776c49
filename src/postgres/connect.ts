import { readFileSync } from 'node:fs';
import { connect as dial, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import postgres from 'postgres';
import { DB_CONNECTIONS, QUERY_DEADLINE_MS, STATEMENT_TIMEOUT_MS } from '../limits.ts';
import type { Breaker } from './breaker.ts';
import { boundStatements } from './deadline.ts';
import { ARRAY_OF_ELEMENT, CLIENT_TYPES } from './types.ts';

/** Silence beyond the statement time-out after which a connection that owes an answer counts as dead. */
const DB_SILENCE_GRACE_MS = 2_000;
/** Longest time to open a connection and log in; then the attempt is given up and made again. */
const DB_CONNECT_TIMEOUT_MS = 4_000;
/** Most statements of one process that wait for an answer; one more is refused with 503. */
const MAX_PENDING_QUERIES = 5_000;

export type Sql = postgres.Sql;

/**
 * Opens a pool of connections. Nothing is sent before the first statement.
 *
 * Array parameters must be cast (`${ids}::uuid[]`). An array whose first element is a boolean or a Date must
 * also be marked (`sql.array(flags, ARRAY_OF.bool)`), because the client takes an unmarked one for a single
 * value. `int8` is read as a number if that is exact, else as a bigint; `timestamptz` is read as a Date.
 *
 * The server ends a statement after `statementTimeoutMs`, lock waits included; 0 for never. This process
 * waits for a statement at most `deadlineMs`, the wait for a connection included, and for at most
 * MAX_PENDING_QUERIES statements at once; a `deadlineMs` of 0 lifts both bounds. See `boundStatements`. If a
 * statement was sent and is not answered in time, connections that stay silent for longer than a statement
 * may take are destroyed, so that a link that swallows packets does not hold the pool. With TLS the operating
 * system notices such a link, after minutes.
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
  readonly statementTimeoutMs?: number;
  readonly deadlineMs?: number;
  /** Time after which an idle connection is closed; never by default. */
  readonly idleMs?: number;
  /** Index of the host in the URL that is tried first; then each in turn. By default 0. */
  readonly firstHost?: number;
  /** Refuses statements at once while the database is away. */
  readonly breaker?: Breaker;
  readonly onnotice?: (notice: { readonly [field: string]: string }) => void;
}): Sql {
  const { url, tls } = readTls(options.url);
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const sockets = createSockets(options.firstHost ?? 0);
  const sql = postgres(url, {
    ...(options.socket === undefined ? {} : { path: options.socket }),
    max: options.max ?? DB_CONNECTIONS,
    fetch_types: false,
    types: CLIENT_TYPES as Record<string, postgres.PostgresType>,
    connect_timeout: DB_CONNECT_TIMEOUT_MS / 1000,
    idle_timeout: options.idleMs === undefined ? undefined : options.idleMs / 1000,
    max_lifetime: null,
    keep_alive: 30,
    // In seconds, at most 1: the client's own backoff of up to 20 s would leave a recovered database unused.
    backoff: (retries) => Math.min(2 ** retries / 100, 1) * (0.5 + Math.random() / 2),
    onnotice: options.onnotice ?? (() => undefined),
    connection: {
      application_name: options.applicationName,
      statement_timeout: statementTimeoutMs,
      TimeZone: 'UTC',
    },
    ...(tls === undefined ? {} : { ssl: tls }),
    // Read by the client, missing in its types.
    ...{ socket: sockets.open },
  });
  Object.assign((sql.options as unknown as { shared: { typeArrayMap: object } }).shared.typeArrayMap, ARRAY_OF_ELEMENT);
  const deadlineMs = options.deadlineMs ?? QUERY_DEADLINE_MS;
  if (deadlineMs === 0) return sql as unknown as Sql;
  return boundStatements(sql as unknown as Sql, {
    deadlineMs,
    maxPending: MAX_PENDING_QUERIES,
    ...(options.breaker ? { breaker: options.breaker } : {}),
    onUnanswered: () => statementTimeoutMs > 0 && sockets.destroySilent(statementTimeoutMs + DB_SILENCE_GRACE_MS),
  });
}

type Address = {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
  readonly ssl: unknown;
};

type Sockets = {
  /** Opens the pool's next socket, to each host in turn. */
  open(address: Address): Socket;
  /**
   * Destroys the sockets that receive nothing for `silenceMs` from now: dead ones, and idle ones, which are
   * replaced.
   */
  destroySilent(silenceMs: number): void;
};

function createSockets(firstHost: number): Sockets {
  const all = new Set<Socket>();
  let attempts = firstHost;
  let checking = false;
  return {
    open({ host, port, path, ssl }) {
      const turn = attempts++ % host.length;
      const socket = path ? dial(path) : dial(port[turn] as number, host[turn] as string);
      // The client passes this property to TLS as the server's name.
      Object.assign(socket, { host: host[turn], port: port[turn] });
      for (const known of all) if (known.destroyed) all.delete(known);
      // Under TLS the client crashes the process when the socket below is destroyed (postgres 3.4.9).
      if (!ssl) all.add(socket);
      return socket;
    },
    destroySilent(silenceMs) {
      if (checking) return;
      checking = true;
      const before = [...all].map((socket) => ({ socket, bytesRead: socket.bytesRead }));
      const check = (): void => {
        checking = false;
        for (const { socket, bytesRead } of before) {
          if (!socket.destroyed && socket.bytesRead === bytesRead) socket.destroy(silentError());
        }
      };
      setTimeout(check, silenceMs).unref();
    },
  };
}

const silentError = (): Error =>
  Object.assign(new Error('The database has gone silent'), { code: 'ETIMEDOUT', syscall: 'read' });

/**
 * Reads the TLS settings of a URL that asks for verification. The client would send `sslrootcert` to the
 * server as a setting, and would check the certificate of a host given as an address against the name
 * `localhost`.
 */
function readTls(url: string): { url: string; tls?: ConnectionOptions } {
  const [base = '', search] = url.split('?', 2);
  const params = new URLSearchParams(search);
  const file = params.get('sslrootcert');
  const mode = params.get('sslmode');
  const verifies = mode === 'verify-full' || mode === 'verify-ca' || file !== null;
  if (!verifies || mode === 'disable') return { url };
  params.delete('sslrootcert');
  params.delete('sslmode');
  const rest = params.toString();
  const host = /@([^/:,]+)/.exec(base)?.[1] ?? '';
  return {
    url: rest === '' ? base : `${base}?${rest}`,
    tls: {
      ...(file === null || file === 'system' ? {} : { ca: readFileSync(file, 'utf8') }),
      // verify-ca trusts the authority and leaves the name unchecked.
      checkServerIdentity: (name, certificate) =>
        mode === 'verify-ca' ? undefined : checkServerIdentity(isIP(host) ? host : name, certificate),
    },
  };
}
