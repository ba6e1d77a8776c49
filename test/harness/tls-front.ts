import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { removeFolder } from './folders.ts';
import { listen } from './listen.ts';

/** A Postgres with TLS alone: a front that speaks it before a server without, with a certificate of its own. */
export type TlsFront = {
  /** The server's URL with the front's address. */
  readonly url: string;
  /** The file of its certificate, which is of the name `localhost`. */
  readonly authority: string;
  close(): Promise<void>;
};

/** Opens a front to the server of a URL, on any free port. */
export async function openTlsFront(target: string): Promise<TlsFront> {
  const { hostname, port } = new URL(target);
  const dir = mkdtempSync(join(tmpdir(), 'sameday-tls-'));
  const [keyFile, authority] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const asked = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=localhost'];
  const made = ['-addext', 'subjectAltName=DNS:localhost', '-days', '2', '-keyout', keyFile, '-out', authority];
  execFileSync('openssl', ['req', '-x509', ...asked, ...made], { stdio: 'ignore' });
  const secureContext = createSecureContext({ key: readFileSync(keyFile), cert: readFileSync(authority) });
  const server = createServer((near) => {
    near.on('error', () => undefined);
    near.once('data', (first) => {
      // SSLRequest. Another first message is of a client that goes on without.
      if (first.readUInt32BE(4) !== 80_877_103) return near.destroy();
      near.write('S');
      const secure = new TLSSocket(near, { isServer: true, secureContext });
      const far = dial(Number(port), hostname);
      secure.pipe(far).pipe(secure);
      for (const socket of [secure, far]) socket.on('error', () => undefined);
      secure.on('close', () => far.destroy());
    });
  });
  const { url, close } = await listen(server);
  return {
    url: Object.assign(new URL(target), { port: new URL(url).port }).href,
    authority,
    async close() {
      await close();
      removeFolder(dir);
    },
  };
}
