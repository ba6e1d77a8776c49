import { Client, type ClientBase, type ClientConfig, Pool, type PoolConfig } from 'pg';
import { urlsOfHosts } from './hosts.ts';
import { readUrl } from './read-url.ts';

/** Longest time to open a connection and log in. A host that stands still would never end it. */
const PG_CONNECT_TIMEOUT_MS = 4_000;

/**
 * Opens pools of the client that BullMQ knows, whose connections all lead to a primary: one to a standby is
 * closed. Whoever asked for it gets an error and asks again, and then the next host of the URL is tried. The
 * pools stay with a host until it fails. `tries` is the number of tries after which each was asked: with
 * `sslmode=prefer` each twice, with TLS and without. TLS is set in the URL, see `connect`.
 *
 * @param schema where names without a schema are looked for. It is set by a statement, as a pooler refuses the setting
 *   at the start of a connection
 */
export function pgPools(url: string, schema: string): { open(settings: PoolConfig): Pool; readonly tries: number } {
  const ways = waysTo(url);
  let turn = 0;

  class HostClient extends Client {
    isPrimary = false;

    constructor(config?: string | ClientConfig) {
      const settings = typeof config === 'string' ? {} : config;
      super({ ...settings, ...ways[turn % ways.length], connectionTimeoutMillis: PG_CONNECT_TIMEOUT_MS });
      const asked = turn;
      const failed = () => {
        if (!this.isPrimary && asked === turn) turn++;
      };
      this.once('end', failed);
      // Whoever asked is told of these before the end, and asks again at once.
      for (const event of ['error', 'errorMessage']) this.connection.once(event, failed);
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
    tries: ways.length,
  };
}

/** How each host is asked, in turn. This client knows no `prefer`. */
function waysTo(url: string): Pick<ClientConfig, 'connectionString' | 'ssl'>[] {
  const { url: plain, tls } = readUrl(url);
  const modes =
    tls === 'prefer'
      ? [{ ssl: { rejectUnauthorized: false } }, { ssl: false }]
      : [tls === undefined ? {} : { ssl: tls }];
  return urlsOfHosts(plain).flatMap((connectionString) => modes.map((mode) => ({ connectionString, ...mode })));
}
