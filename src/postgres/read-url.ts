import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { urlsOfHosts } from './hosts.ts';

/** What a file that cannot be read is called, which of other files says the code of the system. */
export const AUTHORITY_UNREADABLE = 'AUTHORITY_UNREADABLE';

export type Host = { readonly host: string; readonly port: number };

/** Null where the URL names none, so that the client's own default counts. */
export function hostOf(url: string): Host | null {
  const { hostname, port } = new URL(url);
  if (hostname === '') return null;
  return { host: decodeURIComponent(hostname).replace(/^\[|\]$/g, ''), port: port === '' ? 5432 : Number(port) };
}

/** False for none, `prefer` for none where the server has none; undefined where the URL does not say. */
export type Tls = ConnectionOptions | 'prefer' | false | undefined;

/**
 * Reads the TLS settings of a URL, and gives the URL without them: the clients of Postgres read them each in its own
 * way. One would send `sslrootcert` to the server as a setting, and would check the certificate of a host given as an
 * address against the name `localhost`. The other verifies in every mode.
 *
 * Nor has it `application_name`, which would stand above that of each pool, by which a process knows its own sessions.
 */
export function readUrl(url: string): { readonly url: string; readonly tls: Tls } {
  const [base = '', search] = url.split('?', 2);
  const params = new URLSearchParams(search);
  const file = params.get('sslrootcert');
  const mode = params.get('sslmode');
  for (const name of ['sslrootcert', 'sslmode', 'application_name']) params.delete(name);
  const rest = params.toString();
  return { url: rest === '' ? base : `${base}?${rest}`, tls: tlsOf(base, mode, file) };
}

/** A mode that is not known verifies. */
function tlsOf(base: string, mode: string | null, file: string | null): Tls {
  if (mode === 'disable') return false;
  if (file === null && mode === null) return undefined;
  if (file === null && mode === 'prefer') return 'prefer';
  if (file === null && (mode === 'require' || mode === 'allow')) return { rejectUnauthorized: false };
  const addresses = urlsOfHosts(base).flatMap((each) => hostOf(each)?.host ?? []);
  return {
    ...(file === null || file === 'system' ? {} : { ca: readAuthority(file) }),
    // verify-ca trusts the authority and leaves the name unchecked.
    checkServerIdentity: (name, certificate) => {
      if (mode === 'verify-ca') return undefined;
      // For an address the client says `localhost`: any of those in the URL will do.
      const names = addresses.includes(name) ? [name] : addresses.filter((address) => isIP(address) !== 0);
      const errors = (names.length > 0 ? names : [name]).map((each) => checkServerIdentity(each, certificate));
      return errors.every((error) => error !== undefined) ? errors[0] : undefined;
    },
  };
}

function readAuthority(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw Object.assign(new Error('The file of sslrootcert cannot be read', { cause }), { code: AUTHORITY_UNREADABLE });
  }
}
