import { Client, type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import { urlsOfHosts } from './hosts.ts';

/** Longest time to open a connection and log in. A host that stands still would never end it. */
const PG_CONNECT_TIMEOUT_MS = 4_000;

/**
 * Opens pools of the client that BullMQ knows, whose connections all lead to a primary: one to a standby is
 * closed. Whoever asked for it gets an error and asks again, and then the next host of the URL is tried. The
 * pools stay with a host until it fails. `hosts` is the number of tries after which each was asked.
 */
export function pgPools(url: string): { open(settings: PoolConfig): Pool; readonly hosts: number } {
  const urls = urlsOfHosts(url);
  let turn = 0;

  class HostClient extends Client {
    readonly #turn = turn;

    constructor(config?: string | ClientConfig) {
      const settings = typeof config === 'string' ? {} : config;
      const connectionString = urls[turn % urls.length] as string;
      super({ ...settings, connectionString, connectionTimeoutMillis: PG_CONNECT_TIMEOUT_MS });
    }

    /** The pool calls it with a callback. */
    override connect(): Promise<void>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<void> | void {
      if (callback === undefined) return super.connect();
      super.connect((error) => {
        if (error) this.failed();
        callback(error);
      });
    }

    failed(): void {
      if (turn === this.#turn) turn++;
    }
  }

  const refuseStandby = async (client: PoolClient): Promise<void> => {
    const { rows } = await client.query('select pg_is_in_recovery() as standby');
    if (!rows[0]?.standby) return;
    (client as unknown as HostClient).failed();
    throw Object.assign(new Error('The server is a standby'), { code: '25006' });
  };
  return {
    open: (settings) => new Pool({ ...settings, Client: HostClient, onConnect: refuseStandby } as PoolConfig),
    hosts: urls.length,
  };
}
