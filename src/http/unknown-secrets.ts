import { createHash, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { RateLimiterMemory } from 'rate-limiter-flexible';

export type UnknownSecrets = {
  /** How long an address that is over its bound has to wait; 0 where it may ask. */
  secondsToWait(address: string): Promise<number>;
  /** The address asked for a secret that nobody holds. */
  count(address: string): Promise<void>;
};

/**
 * Counts, for each client address, the secrets it sent that nobody holds. Addresses share a fixed number of slots, so that
 * no number of addresses takes more memory; which ones share is drawn anew by every process, so that nobody can choose a
 * neighbour.
 */
export function createUnknownSecrets(bounds: {
  readonly most: number;
  readonly windowSeconds: number;
  readonly slots: number;
}): UnknownSecrets {
  const counter = new RateLimiterMemory({ points: bounds.most, duration: bounds.windowSeconds });
  const salt = randomBytes(16);
  const slotOf = (address: string): number =>
    createHash('sha256').update(salt).update(networkOf(address)).digest().readUInt32LE() % bounds.slots;

  return {
    async secondsToWait(address) {
      const counted = await counter.get(slotOf(address));
      if (!counted || counted.consumedPoints < bounds.most) return 0;
      return Math.max(1, Math.ceil(counted.msBeforeNext / 1_000));
    },
    async count(address) {
      await counter.penalty(slotOf(address));
    },
  };
}

/** Who an address stands for: itself, or of IPv6 its /64, since one household or machine has all addresses of it. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  // A socket of both families tells an IPv4 client's address in the form of IPv6, all of them from one /64.
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  return groups.slice(0, 4).join(':');
}

/** The eight groups of an IPv6 address; a zone is left out, and `URL` writes what ends in IPv4 form in groups. */
function groupsOf(address: string): number[] {
  const written = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = written.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}
