import { readFileSync } from 'node:fs';
import { connect as dial, type Socket } from 'node:net';
import postgres from 'postgres';
import {
  DB_CONNECT_TIMEOUT_MS,
  DB_CONNECTIONS,
  DB_SILENCE_GRACE_MS,
  MAX_PENDING_QUERIES,
  QUERY_DEADLINE_MS,
  STATEMENT_TIMEOUT_MS,
} from '../limits.ts';
import { boundStatements } from './deadline.ts';
import { ARRAY_OF_ELEMENT, CLIENT_TYPES } from './types.ts';

export type Sql = postgres.Sql;

/**
 * A pool of connections. Nothing is sent before the first statement.
 *
 * Parameters that are arrays must be cast (`${ids}::uuid[]`); arrays whose first element is a boolean or a Date must be
 * marked too (`sql.array(flags, ARRAY_OF.bool)`), because the client takes such an array for its element. `int8` comes
 * back as a number where that is exact, else as a bigint; `timestamptz` as a Date.
 *
 * The server ends a statement after `statementTimeoutMs` (lock waits included; 0: never). A connection that owes an answer
 * for longer than that and a grace is destroyed, so a link that swallows packets does not hold the pool. This process waits
 * for a statement at most `deadlineMs` (0: without bound), the wait for a free connection included, and for at most
 * `MAX_PENDING_QUERIES` of them; see `boundStatements`.
 *
 * TLS by the URL: `sslmode=disable|prefer|require|verify-ca|verify-full`, `sslrootcert=<file>` or `system`.
 */
export function connect(options: {
  readonly url: string;
  /** Most connections at once. */
  readonly max?: number;
  readonly applicationName: string;
  readonly statementTimeoutMs?: number;
  readonly deadlineMs?: number;
  /** An idle connection is closed after so long; never by default. */
  readonly idleMs?: number;
  readonly onnotice?: (notice: { readonly [field: string]: string }) => void;
}): Sql {
  const { url, tls } = readTls(options.url);
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const sql = postgres(url, {
    max: options.max ?? DB_CONNECTIONS,
    fetch_types: false,
    types: CLIENT_TYPES as Record<string, postgres.PostgresType>,
    connect_timeout: DB_CONNECT_TIMEOUT_MS / 1000,
    idle_timeout: options.idleMs === undefined ? undefined : options.idleMs / 1000,
    max_lifetime: null,
    keep_alive: 30,
    // The client's own grows to 20 s, which is how long a recovered database would go unused.
    backoff: (retries) => Math.min(2 ** retries / 100, 1) * (0.5 + Math.random() / 2),
    onnotice: options.onnotice ?? (() => undefined),
    connection: {
      application_name: options.applicationName,
      statement_timeout: statementTimeoutMs,
      TimeZone: 'UTC',
    },
    ...(tls === undefined ? {} : { ssl: tls }),
    // Read by the client, missing in its types.
    ...{ socket: watchedSockets(statementTimeoutMs === 0 ? 0 : statementTimeoutMs + DB_SILENCE_GRACE_MS) },
  });
  Object.assign((sql.options as unknown as { shared: { typeArrayMap: object } }).shared.typeArrayMap, ARRAY_OF_ELEMENT);
  const deadlineMs = options.deadlineMs ?? QUERY_DEADLINE_MS;
  if (deadlineMs === 0) return sql as unknown as Sql;
  return boundStatements(sql as unknown as Sql, { deadlineMs, maxPending: MAX_PENDING_QUERIES });
}

type Address = { readonly host: readonly string[]; readonly port: readonly number[]; readonly path?: string | false };

/** Makes the pool's sockets, each host in turn, and destroys one that has not answered for `silenceMs` (0: never). */
function watchedSockets(silenceMs: number): (address: Address) => Socket {
  let attempts = 0;
  return ({ host, port, path }) => {
    const turn = attempts++ % host.length;
    const socket = path ? dial(path) : dial(port[turn] as number, host[turn] as string);
    // The client names the host to TLS by this property.
    Object.assign(socket, { host: host[turn], port: port[turn] });
    if (silenceMs > 0) destroyWhenSilent(socket, silenceMs);
    return socket;
  };
}

/** Counts bytes instead of listening, because the client removes all listeners when it puts TLS over the socket. */
function destroyWhenSilent(socket: Socket, silenceMs: number): void {
  let read = 0;
  let answered = 0;
  let owedSince: number | undefined;
  const timer = setInterval(
    () => {
      if (socket.destroyed) return clearInterval(timer);
      if (socket.bytesRead !== read || socket.bytesWritten === answered) {
        read = socket.bytesRead;
        answered = socket.bytesWritten;
        owedSince = undefined;
        return;
      }
      owedSince ??= performance.now();
      if (performance.now() - owedSince >= silenceMs) {
        socket.destroy(
          Object.assign(new Error('The database has gone silent'), { code: 'ETIMEDOUT', syscall: 'read' }),
        );
      }
    },
    Math.min(1_000, silenceMs / 4),
  );
  timer.unref();
}

/** The client knows `sslmode`, but would send `sslrootcert` to the server as a setting. */
function readTls(url: string): { url: string; tls?: object } {
  const [base, search] = url.split('?', 2);
  const params = new URLSearchParams(search);
  const file = params.get('sslrootcert');
  if (file === null || file === 'system') return { url };
  const mode = params.get('sslmode');
  params.delete('sslrootcert');
  params.delete('sslmode');
  const rest = params.toString();
  return {
    url: rest === '' ? (base as string) : `${base}?${rest}`,
    tls: {
      ca: readFileSync(file, 'utf8'),
      // verify-ca trusts the authority and leaves the name unchecked; any other mode with a root file checks both.
      ...(mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    },
  };
}
