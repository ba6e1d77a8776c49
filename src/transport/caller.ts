import { networkOf } from '../domain/network.ts';
import type { RequestHead } from './route.ts';

/** What names of networks begin with, as no other caller's does. */
const NETWORK = 'network ';

/** Whether a caller is a network, and has no key. */
export const isNetwork = (caller: string): boolean => caller.startsWith(NETWORK);

/**
 * Whom a request counts for in the pools that callers share: the store, organization or driver who was let in,
 * else the network it comes from. To be called while the request is unanswered and its client is there.
 */
export function callerOf(principal: unknown, head: Pick<RequestHead, 'remoteAddress'>): string {
  if (typeof principal === 'object' && principal !== null) {
    if ('retailerId' in principal) return String(principal.retailerId);
    if ('organizationId' in principal) return String(principal.organizationId);
    if ('driverId' in principal) return String(principal.driverId);
  }
  return NETWORK + networkOf(head.remoteAddress());
}
