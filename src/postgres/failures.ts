/**
 * What the failure of a statement means to its caller. Holds for a single statement outside a transaction,
 * which every write of the service is.
 *
 * - `refused_row`: the data was refused. Nothing was written, and the same statement fails again.
 * - `retry`: nothing was written, and the same statement may succeed at once.
 * - `unavailable`: the database could not be asked. Nothing was written.
 * - `unknown`: it may have been written, or may yet be.
 * - `bug`: the statement itself is wrong. Nothing was written.
 */
export type Failure = 'refused_row' | 'retry' | 'unavailable' | 'unknown' | 'bug';

/**
 * Codes of Postgres (five characters, appendix A of its manual), of the client, and of `StatementGivenUp`.
 */
const BY_CODE: Readonly<Record<string, Failure>> = {
  // A deadlock, which ended this statement; the other one goes on.
  '40P01': 'retry',
  // Another transaction changed what this one had read.
  '40001': 'retry',

  // Ended by statement_timeout or an operator; an ended statement is rolled back.
  '57014': 'unavailable',
  // A lock was not acquired in time.
  '55P03': 'unavailable',
  // The server is starting, stopping or recovering and accepts no connection.
  '57P03': 'unavailable',
  // Every connection slot is taken.
  '53300': 'unavailable',
  // The database is missing, closed to connections or being dropped, or the login is refused. All of these
  // are found before any statement.
  '3D000': 'unavailable',
  '55000': 'unavailable',
  '28000': 'unavailable',
  '28P01': 'unavailable',
  // The server closed an idle session; a statement that arrives then is not read.
  '57P05': 'unavailable',
  // The server became a read-only standby.
  '25006': 'unavailable',
  // The pool was closed before the statement was sent.
  CONNECTION_ENDED: 'unavailable',
  // No connection was opened in time; statements are sent only after that.
  CONNECT_TIMEOUT: 'unavailable',
  SASL_SIGNATURE_MISMATCH: 'unavailable',
  AUTH_TYPE_NOT_IMPLEMENTED: 'unavailable',
  // TLS was refused, on one side or the other, which is before any login.
  AUTHORITY_UNREADABLE: 'unavailable',
  CERT_HAS_EXPIRED: 'unavailable',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'unavailable',
  ERR_TLS_CERT_ALTNAME_INVALID: 'unavailable',
  SELF_SIGNED_CERT_IN_CHAIN: 'unavailable',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unavailable',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unavailable',
  DEADLINE_UNSENT: 'unavailable',
  TOO_MANY_PENDING: 'unavailable',
  DATABASE_AWAY: 'unavailable',

  // The session was ended from outside, possibly between the commit and its reply.
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

/** Classes of Postgres's codes, their first two characters, for codes that `BY_CODE` does not list. */
const BY_CLASS: Readonly<Record<string, Failure>> = {
  // A value that does not fit its type or range.
  '22': 'refused_row',
  // A constraint of the table.
  '23': 'refused_row',
  // A serialization or integrity failure found at the end.
  '40': 'retry',
  // A connection failure reported by the server or by a pooler in front of it.
  '08': 'unknown',
  // Out of disk, memory or other resources, or an input/output error: the statement is rolled back.
  '53': 'unavailable',
  '58': 'unavailable',
};

/** Whether Postgres ended the statement, mostly as it took the whole statement time-out: so it answers. */
export const wasEnded = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '57014';

/** System calls that precede any sending. */
const BEFORE_SENDING: ReadonlySet<string> = new Set(['connect', 'getaddrinfo']);

/**
 * Classifies an error by its code. An error without a code, or not of the database or its connection, is a
 * bug.
 */
export function classifyFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return 'bug';
  const { code, syscall, severity } = error as { code?: unknown; syscall?: unknown; severity?: unknown };
  if (typeof code !== 'string') return 'bug';
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (typeof severity === 'string') {
    // ERROR rolls the statement back. FATAL and PANIC end the session at an unknown point.
    return BY_CLASS[code.slice(0, 2)] ?? (severity === 'ERROR' ? 'bug' : 'unknown');
  }
  if (typeof syscall === 'string') return BEFORE_SENDING.has(syscall) ? 'unavailable' : 'unknown';
  // Node tries the addresses of a name one after another and reports all failures together.
  if (error instanceof AggregateError) {
    return error.errors.every((part) => classifyFailure(part) === 'unavailable') ? 'unavailable' : 'unknown';
  }
  // ERR_INVALID… is Node's for wrong arguments. Any other code, of TLS or sockets, comes from the connection.
  return code.startsWith('ERR_INVALID') ? 'bug' : 'unknown';
}
