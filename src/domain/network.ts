import { isIP } from 'node:net';

/** What an address is counted as: itself, or for IPv6 its /64, which one household or machine has whole. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = groupsOf(address);
  // A socket of both families gives an IPv4 client's address in the form of IPv6; all of those share one /64.
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return lastIPv4(groups);
  return groups.slice(0, 4).join(':');
}

/** The eight groups of an IPv6 address, without its zone; `URL` turns an ending in IPv4 form into groups. */
export function groupsOf(address: string): number[] {
  const written = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = written.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}

/** The last two groups as an IPv4 address. */
export function lastIPv4(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
