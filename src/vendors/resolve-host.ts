import { Resolver } from 'node:dns/promises';
import { below, WEBHOOK_TIMEOUT_MS } from '../limits.ts';

/** Longest wait for a name server, which is asked twice. Both attempts are below WEBHOOK_TIMEOUT_MS. */
const WEBHOOK_DNS_TIMEOUT_MS = 1_500;
/** Wait for a name's other address family once one is known. Below WEBHOOK_DNS_TIMEOUT_MS. */
const WEBHOOK_DNS_GRACE_MS = 500;

below({ '2 × WEBHOOK_DNS_TIMEOUT_MS': 2 * WEBHOOK_DNS_TIMEOUT_MS }, { WEBHOOK_TIMEOUT_MS });
below({ WEBHOOK_DNS_GRACE_MS }, { WEBHOOK_DNS_TIMEOUT_MS });

/**
 * Finds every address of a host name.
 *
 * @throws when there is none
 */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

/**
 * Asks the name servers without Node's thread pool, which a slow server would take from the rest of the
 * process. `localhost` is this machine by definition (RFC 6761), and the hosts file is not read.
 */
export async function resolveByDns(host: string): Promise<string[]> {
  if (/(^|\.)localhost\.?$/.test(host)) return ['127.0.0.1', '::1'];
  const resolver = new Resolver({ timeout: WEBHOOK_DNS_TIMEOUT_MS, tries: 2 });
  try {
    return await gatherAddresses([resolver.resolve4(host), resolver.resolve6(host)], WEBHOOK_DNS_GRACE_MS);
  } finally {
    resolver.cancel();
  }
}

/**
 * The addresses of all answers, or of those that arrive within `graceMs` after the first one that has any, so
 * that a name server which is silent about one family does not delay the other. Later addresses are not used,
 * since nobody would check them. An answer that failed has none.
 */
export function gatherAddresses(answers: readonly Promise<readonly string[]>[], graceMs: number): Promise<string[]> {
  return new Promise((resolve) => {
    let found: string[] = [];
    let grace: NodeJS.Timeout | undefined;
    let left = answers.length;
    const end = () => {
      clearTimeout(grace);
      resolve(found);
    };
    const answered = (addresses: readonly string[]) => {
      found = [...found, ...addresses];
      left--;
      if (left === 0) end();
      else if (found.length > 0) grace ??= setTimeout(end, graceMs);
    };
    for (const answer of answers) answer.then(answered, () => answered([]));
  });
}
