import { createHash, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { RateLimiterMemory } from 'rate-limiter-flexible';

export type UnknownSecrets = {
  /** How long an address over its bound has to wait; 0 where it may send another secret. */
  secondsToWait(address: string): Promise<number>;
  /** Counts a secret that nobody holds, sent by the address. */
  count(address: string): Promise<void>;
};

/**
 * Counts the secrets that each client address sent and nobody holds. Addresses share a fixed number of slots,
 * which bounds the memory; each process draws by a salt of its own which addresses share one, so that nobody
 * can choose a neighbour.
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

/** What an address is counted as: itself, or for IPv6 its /64, which one household or machine has whole. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  // A socket of both families gives an IPv4 client's address in the form of IPv6; all of those share one /64.
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  return groups.slice(0, 4).join(':');
}

/** The eight groups of an IPv6 address, without its zone; `URL` turns an ending in IPv4 form into groups. */
function groupsOf(address: string): number[] {
  const written = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = written.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}
