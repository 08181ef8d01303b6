import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parseIpNetwork } from '../../base/ip-network.ts';
import { createTrustedProxies, viewClient } from './client-view.ts';

const trust = (...networks: string[]) => createTrustedProxies(networks.map((each) => parseIpNetwork(each)!));
const view = (headers: string[], remoteAddress: string, trusted = trust('10.0.0.0/8', 'fd00::/8')) =>
  viewClient({ headers, remoteAddress, scheme: 'http' }, trusted);
const addressOf = (forwardedFor: string, remoteAddress = '10.0.0.1'): string =>
  view(['X-Forwarded-For', forwardedFor], remoteAddress).address;

const all = [
  'X-Forwarded-For', '198.51.100.7', 'X-Forwarded-Proto', 'HTTPS', 'X-Forwarded-Host', 'public.test', 'X-Forwarded-Port', '8443',
]; // prettier-ignore

describe('a trusted proxy', () => {
  test('is believed in who asks, by which scheme, on which port; not in which host', () => {
    assert.deepEqual(view(all, '10.1.2.3'), {
      isBehindProxy: true,
      address: '198.51.100.7',
      scheme: 'https',
      port: 8443,
    });
    assert.equal(view(all, 'fd00::1').isBehindProxy, true);
  });

  test('that says nothing leaves everything as it is', () => {
    assert.deepEqual(view([], '10.1.2.3'), {
      isBehindProxy: true,
      address: '10.1.2.3',
      scheme: 'http',
      port: undefined,
    });
  });

  test('that passes nonsense on is not believed in that', () => {
    const headers = ['X-Forwarded-Proto', 'gopher', 'X-Forwarded-Host', 'a b"', 'X-Forwarded-Port', '99999'];
    const { scheme, port } = view(headers, '10.1.2.3');
    assert.deepEqual([scheme, port], ['http', undefined]);
  });

  test('may be one of several: the client is the first from the end that is not trusted', () => {
    assert.equal(addressOf('198.51.100.7, 10.9.9.9'), '198.51.100.7');
    assert.equal(
      addressOf('1.2.3.4, 198.51.100.7, 10.9.9.9, 10.8.8.8'),
      '198.51.100.7',
      'what stands before is hearsay',
    );
    assert.equal(addressOf('10.3.3.3, 10.2.2.2'), '10.3.3.3', 'all are trusted: the client is one of them');
    const twice = ['X-Forwarded-For', '1.2.3.4', 'x-forwarded-for', '198.51.100.7'];
    assert.equal(view(twice, '10.0.0.1').address, '198.51.100.7');
  });

  test('may write ports, and what is no address ends the list', () => {
    assert.equal(addressOf('198.51.100.7:1234'), '198.51.100.7');
    assert.equal(addressOf('[2001:db8::1]:1234'), '2001:db8::1');
    assert.equal(addressOf('[2001:db8::1]'), '2001:db8::1');
    assert.equal(addressOf('2001:db8::1'), '2001:db8::1');
    assert.equal(addressOf('198.51.100.7, unknown'), '10.0.0.1');
    assert.equal(addressOf('198.51.100.7, , 10.2.2.2'), '10.2.2.2');
  });
});

test('nobody else is believed', () => {
  for (const headers of [all, []])
    for (const trusted of [trust('10.0.0.0/8'), undefined])
      assert.deepEqual(viewClient({ headers, remoteAddress: '11.0.0.1', scheme: 'http' }, trusted), {
        isBehindProxy: false,
        address: '11.0.0.1',
        scheme: 'http',
        port: undefined,
      });
});

test('who is trusted does not depend on who was asked about before', () => {
  const isTrusted = trust('10.0.0.0/8', '2001:db8::/32');
  const anyAddress = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.1', '2001:db8::5', '', 'x'));
  fc.assert(
    fc.property(fc.array(anyAddress, { maxLength: 50 }), (addresses) => {
      for (const address of addresses)
        assert.equal(isTrusted(address), trust('10.0.0.0/8', '2001:db8::/32')(address), address);
    }),
  );
  for (let index = 0; index < 3_000; index += 1) isTrusted(`11.0.${index >> 8}.${index & 255}`);
  assert.equal(isTrusted('10.0.0.1'), true);
  assert.equal(isTrusted('11.0.0.1'), false);
});
