import { BlockList, isIP } from 'node:net';
import { groupsOf, lastIPv4 } from '../domain/network.ts';

type Range = readonly [network: string, prefix: number];

/**
 * IPv4 ranges that are not the public Internet (IANA's special-purpose registry, RFC 6890 and its updates).
 */
const NOT_PUBLIC_IPV4: readonly Range[] = [
  ['0.0.0.0', 8], // "this network"; Linux connects 0.0.0.0 to itself
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carrier-grade NAT, and a cloud's metadata service
  ['127.0.0.0', 8],
  ['168.63.129.16', 32], // a cloud's host agent behind a public number
  ['169.254.0.0', 16], // link-local: the metadata services of most clouds
  ['172.16.0.0', 12],
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays, withdrawn
  ['192.168.0.0', 16],
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast included
];

/** The one public range of IPv6, so that everything unknown (mapped, local, multicast) is refused. */
const GLOBAL_UNICAST: Range = ['2000::', 3];
const NOT_PUBLIC_IPV6: readonly Range[] = [
  ['2001::', 23], // protocol assignments; Teredo carries an IPv4 address inside
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: an IPv4 address inside; withdrawn
  ['3fff::', 20], // documentation
];
/** NAT64 (RFC 6052): the last 32 bits are the IPv4 address that is reached. */
const NAT64: Range = ['64:ff9b::', 96];

function listOf(family: 'ipv4' | 'ipv6', ranges: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family);
  return list;
}

const notPublicV4 = listOf('ipv4', NOT_PUBLIC_IPV4);
const globalV6 = listOf('ipv6', [GLOBAL_UNICAST]);
const notPublicV6 = listOf('ipv6', NOT_PUBLIC_IPV6);
const nat64 = listOf('ipv6', [NAT64]);
const loopbackV4 = listOf('ipv4', [['127.0.0.0', 8]]);
const loopbackV6 = listOf('ipv6', [['::1', 128]]);

/** Whether `address` is an IP address of the public Internet; false for other texts and for a zone. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !notPublicV4.check(address, 'ipv4');
  if (!isPlainIPv6(address)) return false;
  if (nat64.check(address, 'ipv6')) return isPublicAddress(lastIPv4(groupsOf(address)));
  return globalV6.check(address, 'ipv6') && !notPublicV6.check(address, 'ipv6');
}

/** Whether `address` is this machine's own, 127.0.0.0/8 or ::1. */
export function isLoopbackAddress(address: string): boolean {
  if (isIP(address) === 4) return loopbackV4.check(address, 'ipv4');
  // An IPv4 address written as IPv6 (::ffff:127.0.0.1) is refused, as nobody needs it.
  return isPlainIPv6(address) && loopbackV6.check(address, 'ipv6');
}

const isPlainIPv6 = (address: string): boolean => isIP(address) === 6 && !address.includes('%');
