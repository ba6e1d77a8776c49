import type postgres from 'postgres';
import type { Breaker } from './breaker.ts';

type Sql = postgres.Sql;

/** Why a statement was given up. Only after `DEADLINE_SENT` it may have been executed. */
type GivenUpCode = 'DEADLINE_UNSENT' | 'DEADLINE_SENT' | 'TOO_MANY_PENDING' | 'DATABASE_AWAY';

/** Most characters of a statement in the error that it was given up: they tell which one it is. */
const MAX_SHOWN = 80;

/** A statement that this process does not wait for any more; see `classifyFailure`. */
export class StatementGivenUp extends Error {
  readonly code: GivenUpCode;
  /** @param strings the statement without its values, which no log may hold */
  constructor(code: GivenUpCode, strings: readonly string[] = []) {
    const shown = strings.join('?').replace(/\s+/g, ' ').trim().slice(0, MAX_SHOWN);
    super(`A database statement was given up: ${code} ${shown}`.trim());
    this.name = 'StatementGivenUp';
    this.code = code;
  }
}

export type StatementBounds = {
  /** Longest wait for a statement, in the pool and on the wire together. */
  readonly deadlineMs: number;
  /** Most statements waiting at once; another one fails at once, unsent. */
  readonly maxPending: number;
  /** Called if a statement was sent and not answered in time. */
  readonly onUnanswered?: () => void;
  readonly breaker?: Breaker;
};

/** Fields of the client's statements that its types lack (postgres 3.4.9, `src/query.js`). */
type Statement = {
  /** Null until the statement is given to a connection. */
  state: unknown;
  strings: readonly string[];
  args: readonly unknown[];
  handler: (statement: Statement) => unknown;
  resolve: (rows: unknown) => void;
  reject: (error: unknown) => void;
};

const ownDeadlines = new WeakMap<object, number>();

/** Gives a statement of a bounded `sql` its own deadline. Must be called before the statement is awaited. */
export function withDeadline<Query extends Promise<unknown>>(query: Query, deadlineMs: number): Query {
  ownDeadlines.set(query, deadlineMs);
  return query;
}

/**
 * The same `sql` with bounded statements.
 *
 * A statement whose deadline passes before it is sent is emptied, so that it certainly never runs. One that
 * was sent is left alone, and its outcome is unknown. The client's `cancel()` is not used: it cancels
 * whatever runs on a connection with pipelined statements, and it loses a connection that is being opened for
 * the statement. The server's `statement_timeout` ends a slow statement instead.
 *
 * While the breaker is open, a statement fails at once, unsent. When it opens, waiting statements are given
 * up as if their deadlines had passed.
 *
 * `begin` and `reserve` are refused. After a lost connection they go on in another request's transaction, and
 * without the client's start-up query `reserve` never gets a connection that is yet to be opened (postgres
 * 3.4.9).
 */
export function boundStatements(sql: Sql, bounds: StatementBounds): Sql {
  const { breaker } = bounds;
  /** For each waiting statement, the function that gives it up. */
  const pending = new Set<() => void>();
  breaker?.onOpen(() => {
    for (const giveUp of pending) giveUp();
  });

  const arm = <Query>(query: Query): Query => {
    const statement = query as Statement;
    if (typeof statement?.handler !== 'function') return query;
    const { handler, resolve, reject } = statement;
    // The client calls it when the statement is first awaited, and never for a fragment.
    statement.handler = (self) => {
      if (breaker?.isOpen()) return reject(new StatementGivenUp('DATABASE_AWAY', self.strings));
      if (pending.size >= bounds.maxPending) {
        return reject(new StatementGivenUp('TOO_MANY_PENDING', self.strings));
      }
      const finish = (): boolean => {
        clearTimeout(timer);
        return pending.delete(giveUp);
      };
      const giveUp = (): void => {
        if (!finish()) return;
        const { strings } = self;
        const unsent = emptyIfUnsent(self);
        reject(new StatementGivenUp(unsent ? 'DEADLINE_UNSENT' : 'DEADLINE_SENT', strings));
        if (!unsent) bounds.onUnanswered?.();
      };
      // Once more through the event loop, so that a process that was blocked reads its replies first.
      const timer = setTimeout(() => setImmediate(giveUp), ownDeadlines.get(self) ?? bounds.deadlineMs);
      pending.add(giveUp);
      statement.resolve = (rows) => {
        finish();
        resolve(rows);
      };
      statement.reject = (error) => {
        if (self.state === null && isOfConnection(error) && pending.has(giveUp)) return handler(self);
        if (isOfStandby(error)) breaker?.sawStandby();
        finish();
        reject(error);
      };
      return handler(self);
    };
    return query;
  };

  const bounded = (first: unknown, ...rest: unknown[]): unknown =>
    arm((sql as unknown as (...args: unknown[]) => unknown)(first, ...rest));
  return Object.assign(bounded, sql, {
    unsafe: (...args: Parameters<Sql['unsafe']>) => arm(sql.unsafe(...args)),
    begin: refuse('begin'),
    reserve: refuse('reserve'),
  }) as unknown as Sql;
}

/**
 * What an unsent statement may get instead of a connection, for which it waits on, within its deadline: that the one
 * opened for it led to a standby, or was ended by the database as it logged in.
 */
const OF_CONNECTIONS: ReadonlySet<unknown> = new Set(['CONNECTION_DESTROYED', '57P01', '57P02']);
const isOfConnection = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && OF_CONNECTIONS.has(error.code);

/** Only a standby refuses a write of the service, as none of its settings makes a session read-only. */
const isOfStandby = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '25006';

const refuse = (name: string) => (): Promise<never> =>
  Promise.reject(new Error(`sql.${name} is not safe here: write one statement, or use a pool of one connection.`));

function emptyIfUnsent(statement: Statement): boolean {
  if (statement.state !== null) return false;
  statement.strings = Object.assign([''], { raw: [''] });
  statement.args = [];
  return true;
}
