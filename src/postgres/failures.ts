/**
 * What a failed statement means for the one who sent it. Holds for single statements outside a transaction, which is how
 * the service writes.
 *
 * - `refused_row`: the data was refused. Nothing was written; the same statement fails again.
 * - `retry`: nothing was written, and the same statement may well succeed at once.
 * - `unavailable`: the database could not be asked. Nothing was written.
 * - `unknown`: it may have been written, or may yet be.
 * - `bug`: the statement itself is wrong. Nothing was written.
 */
export type Failure = 'refused_row' | 'retry' | 'unavailable' | 'unknown' | 'bug';

/** Codes of Postgres (five characters, its manual's appendix A), of the client, and of `withDeadline`. */
const BY_CODE: Readonly<Record<string, Failure>> = {
  // Two statements waited for each other's rows and this one was ended; the other goes on.
  '40P01': 'retry',
  // Another transaction changed what this one had read.
  '40001': 'retry',

  // Ended by statement_timeout or an operator; an ended statement is rolled back.
  '57014': 'unavailable',
  // A lock was not given in time.
  '55P03': 'unavailable',
  // The server is starting, stopping or recovering and takes no connection.
  '57P03': 'unavailable',
  // Every connection slot is taken.
  '53300': 'unavailable',
  // The database is being dropped or is missing, or the login is refused: found before any statement.
  '3D000': 'unavailable',
  // The database was closed to connections by its operator, also found before any statement.
  '55000': 'unavailable',
  '28000': 'unavailable',
  '28P01': 'unavailable',
  // The server closed a session that was idle; a statement that arrives then is not read.
  '57P05': 'unavailable',
  // The server became a read-only standby.
  '25006': 'unavailable',
  // The pool was closed before the statement was sent.
  CONNECTION_ENDED: 'unavailable',
  // No connection was made in time; statements go out only after that.
  CONNECT_TIMEOUT: 'unavailable',
  SASL_SIGNATURE_MISMATCH: 'unavailable',
  AUTH_TYPE_NOT_IMPLEMENTED: 'unavailable',
  DEADLINE_UNSENT: 'unavailable',
  TOO_MANY_PENDING: 'unavailable',
  DATABASE_AWAY: 'unavailable',

  // The session was ended from outside; the commit may have come first and its answer been lost.
  '57P01': 'unknown',
  '57P02': 'unknown',
  // The connection was lost with the statement on it.
  CONNECTION_CLOSED: 'unknown',
  CONNECTION_DESTROYED: 'unknown',
  DEADLINE_SENT: 'unknown',

  // One value is larger than an index or a page can hold.
  '54000': 'refused_row',

  // Mistakes in the call itself.
  UNDEFINED_VALUE: 'bug',
  NOT_TAGGED_CALL: 'bug',
  UNSAFE_TRANSACTION: 'bug',
  MAX_PARAMETERS_EXCEEDED: 'bug',
  MESSAGE_NOT_SUPPORTED: 'bug',
};

/** The first two characters of a code of Postgres, for what `BY_CODE` does not name. */
const BY_CLASS: Readonly<Record<string, Failure>> = {
  // A value that does not fit its type or range.
  '22': 'refused_row',
  // A constraint of the table.
  '23': 'refused_row',
  // A serialization or integrity failure found at the end.
  '40': 'retry',
  // Connection trouble told by the server or by a pooler in front of it.
  '08': 'unknown',
  // Out of disk, memory or other resources, or an input/output error: the statement is rolled back.
  '53': 'unavailable',
  '58': 'unavailable',
};

/** System calls that come before anything can be sent. */
const BEFORE_SENDING: ReadonlySet<string> = new Set(['connect', 'getaddrinfo']);

/** Decides by the error's code alone; an error it does not know and that comes from no database is a bug. */
export function classifyFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return 'bug';
  const { code, syscall, severity } = error as { code?: unknown; syscall?: unknown; severity?: unknown };
  if (typeof code !== 'string') return 'bug';
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (typeof severity === 'string') {
    // A statement that ends in ERROR is rolled back; FATAL and PANIC end the session at a point that is not told.
    return BY_CLASS[code.slice(0, 2)] ?? (severity === 'ERROR' ? 'bug' : 'unknown');
  }
  if (typeof syscall === 'string') return BEFORE_SENDING.has(syscall) ? 'unavailable' : 'unknown';
  // Node tries the addresses of a name one after another and reports all of them together.
  if (error instanceof AggregateError) {
    return error.errors.every((part) => classifyFailure(part) === 'unavailable') ? 'unavailable' : 'unknown';
  }
  // Errors of Node's own about wrong arguments; anything else with a code (TLS, sockets) came from the connection.
  return code.startsWith('ERR_INVALID') ? 'bug' : 'unknown';
}
