import { Client, type ClientBase, type ClientConfig, Pool, type PoolConfig } from 'pg';
import { urlsOfHosts } from './hosts.ts';

/** Longest time to open a connection and log in. A host that stands still would never end it. */
const PG_CONNECT_TIMEOUT_MS = 4_000;

/**
 * Opens pools of the client that BullMQ knows, whose connections all lead to a primary: one to a standby is
 * closed. Whoever asked for it gets an error and asks again, and then the next host of the URL is tried. The
 * pools stay with a host until it fails. `hosts` is the number of tries after which each was asked.
 *
 * @param schema where names without a schema are looked for. It is set by a statement, as a pooler refuses the setting
 *   at the start of a connection
 */
export function pgPools(url: string, schema: string): { open(settings: PoolConfig): Pool; readonly hosts: number } {
  const urls = urlsOfHosts(url);
  let turn = 0;

  class HostClient extends Client {
    isPrimary = false;

    constructor(config?: string | ClientConfig) {
      const settings = typeof config === 'string' ? {} : config;
      const connectionString = urls[turn % urls.length] as string;
      super({ ...settings, connectionString, connectionTimeoutMillis: PG_CONNECT_TIMEOUT_MS });
      const asked = turn;
      this.once('end', () => {
        if (!this.isPrimary && asked === turn) turn++;
      });
    }
  }

  async function asPrimary(client: ClientBase): Promise<void> {
    const question = {
      text: "select pg_is_in_recovery() as standby, set_config('search_path', $1, false)",
      values: [schema],
      query_timeout: PG_CONNECT_TIMEOUT_MS,
    };
    const { rows } = await client.query<{ standby: boolean }>(question);
    if (rows[0]?.standby !== false) throw Object.assign(new Error('The server is a standby'), { code: '25006' });
    if (client instanceof HostClient) client.isPrimary = true;
  }
  // The pool waits for `onConnect`, which its types do not know.
  const own: object = { Client: HostClient, onConnect: asPrimary };
  return {
    open: (settings) => new Pool({ ...settings, ...own }),
    hosts: urls.length,
  };
}
