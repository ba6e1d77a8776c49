import type { Sql } from '../postgres/connect.ts';

/** What every statement of the store works with. */
export type Db = {
  readonly sql: Sql;
  /** Connections for commits of new orders alone: nothing else delays them, and their plans stay cached. */
  readonly commits: Sql;
  /** Marks the notices of this process, so that its own change feed skips them. */
  readonly processId: string;
};
