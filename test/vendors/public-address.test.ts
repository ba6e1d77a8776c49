import { expect, test } from 'vitest';
import { isLoopbackAddress, isPublicAddress } from '../../src/vendors/public-address.ts';

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:810::200e',
  '2001:4860:4860::8888',
  '64:ff9b::8.8.8.8',
  '64:ff9b::808:808',
])('%s is of the public Internet', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  ['this network', '0.0.0.0'],
  ['this network', '0.1.2.3'],
  ['private', '10.0.0.1'],
  ['private', '10.255.255.255'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['carrier-grade NAT', '100.100.100.200'],
  ['carrier-grade NAT', '100.127.255.255'],
  ['loopback', '127.0.0.1'],
  ['loopback', '127.255.255.254'],
  ['link-local, cloud metadata', '169.254.169.254'],
  ['a cloud’s host agent', '168.63.129.16'],
  ['protocol assignments', '192.0.0.192'],
  ['documentation', '192.0.2.1'],
  ['documentation', '198.51.100.1'],
  ['documentation', '203.0.113.1'],
  ['6to4 relay', '192.88.99.1'],
  ['benchmarks', '198.18.0.1'],
  ['benchmarks', '198.19.255.255'],
  ['multicast', '224.0.0.1'],
  ['multicast', '239.255.255.255'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['unspecified', '::'],
  ['loopback', '::1'],
  ['loopback, written out', '0:0:0:0:0:0:0:1'],
  ['mapped loopback', '::ffff:127.0.0.1'],
  ['mapped loopback in hex', '::ffff:7f00:1'],
  ['mapped private', '::ffff:10.0.0.1'],
  ['mapped public', '::ffff:8.8.8.8'],
  ['IPv4-compatible', '::8.8.8.8'],
  ['IPv4-translated', '::ffff:0:8.8.8.8'],
  ['unique local', 'fc00::1'],
  ['unique local, cloud metadata', 'fd00:ec2::254'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['public with a zone', '2606:4700:4700::1111%eth0'],
  ['site-local', 'fec0::1'],
  ['multicast', 'ff02::1'],
  ['discard', '100::1'],
  ['documentation', '2001:db8::1'],
  ['documentation', '3fff::1'],
  ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['ORCHID', '2001:20::1'],
  ['6to4 of a private address', '2002:a00:1::1'],
  ['6to4 of a public address', '2002:808:808::1'],
  ['NAT64 of loopback', '64:ff9b::127.0.0.1'],
  ['NAT64 of loopback in hex', '64:ff9b::7f00:1'],
  ['NAT64 of a private address', '64:ff9b::a00:1'],
  ['NAT64 of cloud metadata', '64:ff9b::a9fe:a9fe'],
  ['NAT64 of 0.0.0.0', '64:ff9b::'],
  ['NAT64 of 0.0.0.1', '64:ff9b::1'],
  ['NAT64 for local use', '64:ff9b:1::808:808'],
  ['not assigned', '4000::1'],
  ['not an address', 'example.com'],
  ['not an address', ''],
  ['odd notation', '0x7f.1'],
  ['odd notation', '2130706433'],
  ['odd notation', '127.1'],
  ['odd notation', '0177.0.0.1'],
])('%s: %s is not of the public Internet', (_kind, address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test('recognizes this machine’s own addresses', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1'].filter(isLoopbackAddress)).toHaveLength(3);
  expect(['10.0.0.1', '0.0.0.0', '::', '::ffff:127.0.0.1', '::1%lo', 'localhost'].filter(isLoopbackAddress)).toEqual(
    [],
  );
});
