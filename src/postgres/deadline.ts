import type postgres from 'postgres';
import type { Breaker } from './breaker.ts';

type Sql = postgres.Sql;

/** Why a statement was given up. Only `DEADLINE_SENT` leaves open whether it was executed. */
type GivenUpCode = 'DEADLINE_UNSENT' | 'DEADLINE_SENT' | 'TOO_MANY_PENDING' | 'DATABASE_AWAY';

/** A statement this process no longer waits for; `classifyFailure` tells what that means. */
export class StatementGivenUp extends Error {
  readonly code: GivenUpCode;
  constructor(code: GivenUpCode) {
    super(`A database statement was given up: ${code}`);
    this.name = 'StatementGivenUp';
    this.code = code;
  }
}

export type StatementBounds = {
  /** Longest wait for one statement, in the pool and on the wire together. */
  readonly deadlineMs: number;
  /** Most statements waiting at once; one more fails at once, unsent. */
  readonly maxPending: number;
  /** Called when a statement was sent and not answered in time. */
  readonly onUnanswered?: () => void;
  readonly breaker?: Breaker;
};

/** What the client keeps in a statement (postgres 3.4.9, `src/query.js`); not in its types. */
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

/** Gives one statement of a bounded `sql` a deadline of its own. To be called before it is awaited. */
export function withDeadline<Query extends Promise<unknown>>(query: Query, deadlineMs: number): Query {
  ownDeadlines.set(query, deadlineMs);
  return query;
}

/**
 * The same `sql`, every statement bounded.
 *
 * A statement whose time is up before it was sent is emptied, so it is certain that it never runs. One that was sent is
 * left alone and its outcome is unknown: the client's `cancel()` aims at a connection on which statements are pipelined
 * and can end a neighbour, and it loses a connection for good when the statement is the one that connection is being
 * opened for. The server's `statement_timeout` ends a slow statement instead.
 *
 * While the breaker is open a statement fails at once, unsent; when it opens, those that wait are given up as if their
 * time were up.
 *
 * `begin` and `reserve` are refused: after a lost connection they go on in a transaction of somebody else, and without
 * the client's own start-up query `reserve` never gets a connection that has yet to be opened (postgres 3.4.9).
 */
export function boundStatements(sql: Sql, bounds: StatementBounds): Sql {
  const { breaker } = bounds;
  /** What gives up each statement that waits. */
  const pending = new Set<() => void>();
  breaker?.onOpen(() => {
    for (const giveUp of pending) giveUp();
  });

  const arm = <Query>(query: Query): Query => {
    const statement = query as Statement;
    if (typeof statement?.handler !== 'function') return query;
    const { handler, resolve, reject } = statement;
    // Called when the statement is first awaited, and never for a fragment of another one.
    statement.handler = (self) => {
      if (breaker?.isOpen()) return reject(new StatementGivenUp('DATABASE_AWAY'));
      if (pending.size >= bounds.maxPending) return reject(new StatementGivenUp('TOO_MANY_PENDING'));
      const settle = (): boolean => {
        clearTimeout(timer);
        return pending.delete(giveUp);
      };
      const giveUp = (): void => {
        if (!settle()) return;
        const unsent = emptyIfUnsent(self);
        reject(new StatementGivenUp(unsent ? 'DEADLINE_UNSENT' : 'DEADLINE_SENT'));
        if (!unsent) bounds.onUnanswered?.();
      };
      // Once more through the event loop: a process that stood still reads the answers first that came meanwhile.
      const timer = setTimeout(() => setImmediate(giveUp), ownDeadlines.get(self) ?? bounds.deadlineMs);
      pending.add(giveUp);
      statement.resolve = (rows) => {
        settle();
        resolve(rows);
      };
      statement.reject = (error) => {
        settle();
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

const refuse = (name: string) => (): Promise<never> =>
  Promise.reject(new Error(`sql.${name} is not safe here: write one statement, or use a pool of one connection.`));

function emptyIfUnsent(statement: Statement): boolean {
  if (statement.state !== null) return false;
  statement.strings = Object.assign([''], { raw: [''] });
  statement.args = [];
  return true;
}
