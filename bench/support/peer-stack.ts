import type { Sql } from 'postgres';

/**
 * A service under load with its servers, this one or the plain one. Both are measured and judged in the same
 * way.
 */
export type OrderStack = {
  readonly name: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly sql: Sql;
  /** Starts it without a worker, without orders and with every driver free; resolves with its URL. */
  start(): Promise<string>;
  /** Stops the service and leaves its servers running. Idempotent. */
  halt(): Promise<void>;
  close(): Promise<void>;
};
