import { expect, test } from 'vitest';
import { networkOf } from '../../src/domain/network.ts';

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '8193:3512:1:2'],
  ['2001:db8:1:2::', '8193:3512:1:2'],
  ['2001:0db8:0001:0002:0000:0000:0000:0001', '8193:3512:1:2'],
  ['2001:db8::1', '8193:3512:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', '65152:0:0:0'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['0000:0000:0000:0000:0000:ffff:cb00:7107', '203.0.113.7'],
  ['unknown', 'unknown'],
  ['', ''],
])('%s stands for %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
