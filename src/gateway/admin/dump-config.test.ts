import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { adminConfiguration, hiddenKeyLine, hiddenValue } from '../../../test/integration/admin-configuration.ts';
import { emptyConfiguration } from '../../ir/configuration.ts';
import { PolicySchema, SecretSchema } from '../../ir/gen/config_pb.ts';
import { compile } from '../config/compile/compile.ts';
import { dumpConfig, summariseCertificates, summariseSecret } from './dump-config.ts';

describe('the configuration as JSON', () => {
  const dump = dumpConfig(adminConfiguration, { ...compile(adminConfiguration).runtime, version: 4 });
  const text = JSON.stringify(dump);

  test('is protobuf JSON', () => {
    assert.equal(dump['version'], 4);
    const [listener] = dump['listeners'] as { protocol: string; hostname: string }[];
    assert.equal(listener?.protocol, 'LISTENER_PROTOCOL_HTTPS');
    assert.equal(listener?.hostname, '*.mcp.example');
    assert.match(text, /"name":"x-visible","value":"yes"/);
  });

  test('has no credentials that filters set or matches compare', () => {
    assert.doesNotMatch(text, new RegExp(hiddenValue));
    assert.match(text, /"name":"Authorization","value":"\[redacted\]"/);
    assert.match(text, /"name":"x-api-key","type":"VALUE_MATCH_TYPE_EXACT","value":"\[redacted\]"/);
  });

  test('shows certificates, never keys', () => {
    assert.equal(text.includes(hiddenKeyLine), false);
    assert.doesNotMatch(text, /PRIVATE KEY|BEGIN/);
    const [tls, ca] = dump['secrets'] as [Record<string, Record<string, unknown>>, Record<string, unknown[]>];
    const [certificate] = tls['tls']!['certificates'] as Record<string, unknown>[];
    assert.equal(tls['tls']?.['privateKey'], '[redacted]');
    assert.match(String(certificate?.['subject']), /mcp\.example/);
    assert.deepEqual(certificate?.['subjectAltName'], ['DNS:mcp.example', 'DNS:*.mcp.example']);
    assert.match(String(certificate?.['notAfter']), /^\d{4}-\d\d-\d\dT/);
    assert.equal(ca['caCertificates']?.length, 2);
  });

  test('tells the keys of a policy apart, and shows none', () => {
    const keySet = {
      keys: [
        { kty: 'RSA', kid: 'one', use: 'sig', alg: 'RS256', n: 'Modulus', e: 'AQAB', d: hiddenValue, p: hiddenValue },
        { kty: 'oct', k: hiddenValue, kid: { d: hiddenValue } },
        hiddenValue,
      ],
    };
    const list = [JSON.stringify(keySet), hiddenValue, `{"keys":"${hiddenValue}"}`].map((inline, index) =>
      create(PolicySchema, {
        key: `default/${index}`,
        spec: {
          case: 'jwtAuthentication',
          value: { providers: [{ name: 'a', keys: { source: { case: 'inline', value: inline } } }] },
        },
      }),
    );
    const { policies } = dumpConfig(
      { ...emptyConfiguration, policies: list },
      { ...compile(emptyConfiguration).runtime, version: 1 },
    );
    assert.doesNotMatch(JSON.stringify(policies), new RegExp(hiddenValue));
    const shown = (policies as { jwtAuthentication: { providers: { keys: { inline: unknown } }[] } }[]).map(
      ({ jwtAuthentication }) => jwtAuthentication.providers[0]?.keys.inline,
    );
    assert.deepEqual(shown, [
      [{ kty: 'RSA', kid: 'one', use: 'sig', alg: 'RS256' }, { kty: 'oct' }, '[redacted]'],
      '[redacted]',
      '[redacted]',
    ]);
  });

  test('of nothing is empty', () => {
    assert.deepEqual(dumpConfig(emptyConfiguration, { ...compile(emptyConfiguration).runtime, version: 0 }), {
      authentications: [],
      jwtAuthentications: [],
      federations: [],
      version: 0,
      listeners: [],
      routes: [],
      backends: [],
      policies: [],
      secrets: [],
    });
  });
});

test('a secret without a value and a certificate that is none', () => {
  assert.deepEqual(summariseSecret(create(SecretSchema, { key: 'k' })), { key: 'k' });
  assert.deepEqual(summariseCertificates('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'), [
    { problem: 'the certificate cannot be parsed' },
  ]);
  assert.deepEqual(summariseCertificates('garbage'), []);
});
