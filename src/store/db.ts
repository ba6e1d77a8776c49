import type { Sql } from '../postgres/connect.ts';

/** What the store's statements are bound to. */
export type Db = {
  readonly sql: Sql;
  /** Connections for commits of new orders only: no other statement delays them, and plans stay cached. */
  readonly commits: Sql;
  /** Connections for stores' lists and chains' events only, whose statements end after LIST_STATEMENT_MS. */
  readonly lists: Sql;
  /** Marks the notices of this process, so that its own change feed skips them. */
  readonly processId: string;
};
