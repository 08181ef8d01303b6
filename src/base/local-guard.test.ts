import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLocalGuard } from './local-guard.ts';

const listAddresses = () => ['127.0.0.1', '::1', '10.1.2.3', 'fd00::5', 'fe80::1%eth0'];
const here = [
  '127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::ffff:7f00:1', '0.0.0.0', '::', '::ffff:0.0.0.0', '10.1.2.3', '::ffff:10.1.2.3', 'fd00::5',
  'FD00:0:0::5', 'fe80::1', 'fe80::1%eth0', '64:ff9b::127.0.0.1',
]; // prettier-ignore

describe('on a machine of ones own', () => {
  const guard = createLocalGuard({ ownPorts: [15_000, 15_020], allowsLocal: true, listAddresses });

  for (const address of here)
    test(`own ports are nobody's backend: ${address}`, () => {
      assert.match(guard(address, 15_000) ?? '', /the gateway's own port 15000/);
      assert.match(guard(address, 15_020) ?? '', /own port 15020/);
      assert.equal(guard(address, 3001), undefined);
    });

  test('the same ports of others are', () => {
    for (const address of ['10.1.2.4', '192.0.2.1', '8.8.8.8', 'fd00::6'])
      assert.equal(guard(address, 15_000), undefined);
  });
});

describe('deployed', () => {
  const guard = createLocalGuard({ ownPorts: [15_000], allowsLocal: false, listAddresses });

  for (const address of [
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    '169.254.1.1',
    'fe80::1',
    '::ffff:169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    'fd00:ec2::254',
    '64:ff9b::a9fe:a9fe',
  ])
    // prettier-ignore
    test(`refuses ${address}, on every port`, () => {
      for (const port of [80, 3001, 15_000]) assert.notEqual(guard(address, port), undefined);
    });

  test('other pods and the world are fine, and so is the pod itself but for its own ports', () => {
    for (const address of ['10.1.2.3', '10.9.9.9', '8.8.8.8', 'fd00::5', '2001:4860::8888'])
      assert.equal(guard(address, 8080), undefined);
    assert.notEqual(guard('10.1.2.3', 15_000), undefined);
  });
});
