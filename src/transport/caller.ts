import { networkOf } from '../domain/network.ts';
import type { RequestHead } from './route.ts';

/** What names of networks begin with, as no other caller's does. */
const NETWORK = 'network ';

/** Whether a caller is a network, and has no key. */
export const isNetwork = (caller: string): boolean => caller.startsWith(NETWORK);

/** The store, organization or driver who was let in, by the word for them; null for anybody else. */
export function holderOf(principal: unknown): readonly ['retailer' | 'organization' | 'driver', string] | null {
  if (typeof principal !== 'object' || principal === null) return null;
  if ('retailerId' in principal) return ['retailer', String(principal.retailerId)];
  if ('organizationId' in principal) return ['organization', String(principal.organizationId)];
  return 'driverId' in principal ? ['driver', String(principal.driverId)] : null;
}

/**
 * Whom a request counts for in the pools that callers share: who was let in, else the network it comes from. To be
 * called while the request is unanswered and its client is there.
 */
export function callerOf(principal: unknown, head: Pick<RequestHead, 'remoteAddress'>): string {
  return holderOf(principal)?.[1] ?? NETWORK + networkOf(head.remoteAddress());
}
