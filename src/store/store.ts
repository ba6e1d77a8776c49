import type { Db } from './db.ts';
import * as statements from './statements.ts';

type Statement = (db: Db, ...args: never[]) => unknown;

/**
 * The statements without their first parameter, and without their bounds. The mapped type keeps each member's
 * declaration, so an editor leads from `store.cancelOrder` to the SQL.
 */
type Bound<Family> = {
  readonly [Name in keyof Family as Family[Name] extends Statement ? Name : never]: Family[Name] extends (
    db: Db,
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Result
    : never;
};

/**
 * Every statement of the service. An operation takes those it uses:
 * `Pick<Store, 'cancelOrder' | 'findOrderState'>`.
 */
export interface Store extends Bound<typeof statements> {}

/** Binds every statement to the connections of this process. */
export function openStore(db: Db): Store {
  const members: [string, unknown][] = Object.entries(statements);
  const functions = members.filter((member): member is [string, Statement] => typeof member[1] === 'function');
  const bound = functions.map(([name, statement]) => [name, statement.bind(null, db)]);
  return Object.fromEntries(bound) as Store;
}
