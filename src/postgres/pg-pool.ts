import { Client, type ClientBase, type ClientConfig, Pool, type PoolConfig } from 'pg';
import { urlsOfHosts } from './hosts.ts';
import { readUrl, type Tls } from './read-url.ts';

/** Longest time to open a connection and log in. A host that stands still would never end it. */
const PG_CONNECT_TIMEOUT_MS = 4_000;

/**
 * Opens pools of the client that BullMQ knows, whose connections all lead to a primary: one to a standby is
 * closed. Whoever asked for it gets an error and asks again, and then the next host of the URL is tried. The
 * pools stay with a host until it fails. `tries` is the number of tries after which each was asked. TLS is set in the
 * URL, see `connect`; with `sslmode=prefer` a host that refuses it is asked again without, until it fails.
 *
 * @param schema where names without a schema are looked for. It is set by a statement, as a pooler refuses the setting
 *   at the start of a connection
 */
export function pgPools(url: string, schema: string): { open(settings: PoolConfig): Pool; readonly tries: number } {
  const { url: plain, tls } = readUrl(url);
  const hosts = urlsOfHosts(plain);
  let turn = 0;
  let failures = 0;
  /** Whether the host of now has refused TLS, which this client knows as an error alone. */
  let isRefused = false;

  class HostClient extends Client {
    isPrimary = false;

    constructor(config?: string | ClientConfig) {
      const settings = typeof config === 'string' ? {} : config;
      const host = { connectionString: hosts[turn % hosts.length], connectionTimeoutMillis: PG_CONNECT_TIMEOUT_MS };
      super({ ...settings, ...host, ...sslOf(tls, isRefused) });
      const before = failures;
      // A connection that ends, as one to a standby does, says no error.
      const failed = (error: unknown = {}) => {
        if (this.isPrimary || before !== failures) return;
        failures++;
        isRefused = tls === 'prefer' && !isRefused && refusesTls(error);
        if (!isRefused) turn++;
      };
      this.once('end', failed);
      // A lost connection fails its statements; beside that it is an error that nobody else listens for.
      this.on('error', () => undefined);
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
    open: (settings) => new Pool({ ...settings, ...own }).on('error', () => undefined),
    tries: hosts.length * (tls === 'prefer' ? 2 : 1),
  };
}

function sslOf(tls: Tls, isRefused: boolean): Pick<ClientConfig, 'ssl'> {
  if (tls === 'prefer') return { ssl: isRefused ? false : { rejectUnauthorized: false } };
  return tls === undefined ? {} : { ssl: tls };
}

/** The server has no TLS, or lets nobody in by it. */
function refusesTls(error: unknown): boolean {
  const { message = '', code } = error as { readonly message?: string; readonly code?: string };
  return message.includes('does not support SSL') || code === '28000';
}
