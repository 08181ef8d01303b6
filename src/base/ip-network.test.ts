import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BlockList, isIPv6 } from 'node:net';
import * as fc from 'fast-check';
import { isInNetwork, parseIpAddress, parseIpNetwork } from './ip-network.ts';

const isIn = (address: string, network: string): boolean => {
  const bytes = parseIpAddress(address);
  const parsed = parseIpNetwork(network);
  assert.ok(bytes !== undefined && parsed !== undefined);
  return isInNetwork(bytes, parsed);
};

describe('an address in a network', () => {
  for (const [address, network, expected] of [
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.3/32', true],
    ['10.1.2.4', '10.1.2.3/32', false],
    ['192.168.17.255', '192.168.16.0/23', true],
    ['192.168.18.0', '192.168.16.0/23', false],
    ['1.2.3.4', '0.0.0.0/0', true],
    ['::1', '::1', true],
    ['::1', '::/0', true],
    ['2001:db8::1', '2001:db8::/32', true],
    ['2001:db9::1', '2001:db8::/32', false],
    ['fe80::1%eth0', 'fe80::/10', true],
    // An IPv4 client of a socket that listens on IPv6.
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['::ffff:a01:203', '10.0.0.0/8', true],
    ['10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['10.1.2.3', '::/0', false],
    ['::1', '0.0.0.0/0', false],
    ['::10.1.2.3', '10.0.0.0/8', false],
  ] as const)
    test(`${address} in ${network}: ${expected}`, () => assert.equal(isIn(address, network), expected));
});

test('what is no network', () => {
  const texts =
    '/ 10.0.0.0/ /8 10.0.0.0/33 10.0.0.0/-1 10.0.0.0/08 10.0.0.1/8 10.0.0/8 010.0.0.0/8 10.0.0.0/8/8 10.0.0.0/0x8 10.0.0.0/1e0 2001:db8::1/32 ::/129 ::ffff:10.0.0.0/95 fe80::%eth0/64 localhost';
  for (const text of [...texts.split(' '), '', '10.0.0.0/8 ', ' 10.0.0.0/8', '10.0.0.0/8\n'])
    assert.equal(parseIpNetwork(text), undefined, JSON.stringify(text));
});

test('what is no address', () => {
  for (const text of ['', '10.0.0', '10.0.0.256', '10.0.0.1/32', '::g', 'localhost', '1.2.3.4:80', '[::1]'])
    assert.equal(parseIpAddress(text), undefined, JSON.stringify(text));
});

test('agrees with the block lists of Node within a family', () => {
  const pairs = fc.oneof(fc.tuple(fc.ipV4(), fc.ipV4()), fc.tuple(fc.ipV6(), fc.ipV6()));
  const bits = fc.oneof(fc.nat(128), fc.nat(8));
  fc.assert(
    fc.property(pairs, bits, ([address, base], length) => {
      const isSix = isIPv6(base);
      const prefix = isSix ? length : length % 33;
      const bytes = parseIpAddress(base);
      // An IPv4-mapped address counts as IPv4 here.
      fc.pre(bytes !== undefined && bytes.length === (isSix ? 16 : 4));
      fc.pre(parseIpAddress(address)?.length === (isIPv6(address) ? 16 : 4));
      const list = new BlockList();
      list.addSubnet(base, prefix, isSix ? 'ipv6' : 'ipv4');
      const masked = bytes.map((byte, index) => byte & ~(0xff >> Math.min(8, Math.max(0, prefix - index * 8))));
      const ours = isInNetwork(parseIpAddress(address)!, { bytes: masked, prefixLength: prefix });
      assert.equal(ours, list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'));
    }),
  );
});
