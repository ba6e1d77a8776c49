import type { Sql } from '../../src/postgres/connect.ts';
import { openStore, type Store } from '../../src/store/store.ts';

const stores = new WeakMap<Sql, Map<string, Store>>();

/** The store of a connection, bound to this process id and opened once for each. */
export function storeOf(sql: Sql, processId = 'test'): Store {
  const known = stores.get(sql) ?? new Map<string, Store>();
  stores.set(sql, known);
  const store = known.get(processId) ?? openStore({ sql, commits: sql, lists: sql, processId });
  known.set(processId, store);
  return store;
}
