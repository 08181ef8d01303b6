import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type AddressKind, classifyAddress, guardAddress } from './address-guard.ts';
import { guardAddressExceptLoopback } from '../../test/kit/loopback-address-policy.ts';

const cases: readonly [kind: AddressKind, addresses: readonly string[]][] = [
  ['public', ['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '100.63.255.255', '100.128.0.0', '223.255.255.255']],
  ['public', ['2606:4700::1111', '2a00:1450::1', '3ffe::1', '::ffff:8.8.8.8', '64:ff9b::808:808', '2002:808:808::1']],
  ['loopback', ['127.0.0.1', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::ffff:7f00:1']],
  ['loopback', ['::127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', '::ffff:0:127.0.0.1', '::0001']],
  ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '100.127.255.255']],
  ['private', ['fc00::1', 'fdab::1', 'fec0::1', '::ffff:10.0.0.1', '64:ff9b::10.0.0.1', '2002:c0a8:101::']],
  ['reserved', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '198.19.255.255', '240.0.0.1', '192.0.0.1']],
  ['reserved', ['2001:db8::1', '3fff::1', '2001:10::1', '100::1', '5f00::1', '4000::1', '192.88.99.1']],
  ['forbidden', ['169.254.169.254', '169.254.0.1', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192']],
  ['forbidden', ['0.0.0.0', '0.1.2.3', '224.0.0.1', '239.255.255.255', '255.255.255.255', '::', 'ff02::1']],
  ['forbidden', ['fe80::1', 'febf::1', 'fe80::1%eth0', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254']],
  ['forbidden', ['fd00:c1::a9fe:a9fe', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '::169.254.169.254']],
  ['forbidden', ['64:ff9b::169.254.169.254', '64:ff9b:1::1', '2002:a9fe:a9fe::1', '2001:0:1::1', '::ffff:0.0.0.0']],
];

describe('kinds of addresses', () => {
  for (const [kind, addresses] of cases) {
    for (const address of addresses) {
      test(`${address} is ${kind}`, () => assert.equal(classifyAddress(address).kind, kind));
    }
  }

  test('what is no address is a mistake of the caller', () => {
    for (const text of ['', 'localhost', '127.1', '0x7f000001', '[::1]']) {
      assert.throws(() => classifyAddress(text), TypeError, text);
    }
  });

  test('every way to write an IPv4 address as IPv6 is judged like the address itself', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), ([a, b, c, d]) => {
        const dotted = `${a}.${b}.${c}.${d}`;
        const expected = classifyAddress(dotted).kind;
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        for (const prefix of ['::ffff:', '64:ff9b::', '::ffff:0:', '0:0:0:0:0:ffff:']) {
          assert.equal(classifyAddress(`${prefix}${dotted}`).kind, expected);
          assert.equal(classifyAddress(`${prefix}${hex}`).kind, expected);
        }
        assert.equal(classifyAddress(`2002:${hex}::`).kind, expected);
      }),
    );
  });
});

describe('who may call what', () => {
  test('operators may call all but forbidden addresses, clients only public ones', () => {
    for (const [kind, addresses] of cases) {
      for (const address of addresses) {
        assert.equal(guardAddress(address, 'operator') === undefined, kind !== 'forbidden', address);
        assert.equal(guardAddress(address, 'client') === undefined, kind === 'public', address);
        assert.equal(
          guardAddressExceptLoopback(address, 'client') === undefined,
          kind === 'public' || kind === 'loopback',
          address,
        );
      }
    }
  });
});
