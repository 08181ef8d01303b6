import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { createCertificate, type CertificateOptions } from '../../../../test/self-signed-certificate.ts';
import {
  type Listener,
  ListenerProtocol,
  ListenerSchema,
  type Secret,
  SecretSchema,
} from '../../../ir/gen/config_pb.ts';
import { type Compilation, compile } from './compile.ts';
import type { RuntimeConfig } from '../runtime-config.ts';

function secret(name: string, options: CertificateOptions): Secret {
  const { cert: certificate, key: privateKey } = createCertificate(options);
  return create(SecretSchema, {
    key: `Secret/n/${name}`,
    value: { case: 'tls', value: { certificateChain: certificate, privateKey } },
  });
}

function listener(name: string, hostname: string, ...certificates: string[]): Listener {
  return create(ListenerSchema, {
    key: `n/g/${name}`,
    gateway: 'n/g',
    name,
    port: 443,
    protocol: ListenerProtocol.HTTPS,
    hostname,
    certificates: certificates.map((one) => `Secret/n/${one}`),
  });
}

function build(
  listeners: Listener[],
  secrets: Secret[],
  previous?: RuntimeConfig,
): Compilation & { select: (name?: string) => object | undefined } {
  const compilation = compile({ listeners, routes: [], backends: [], policies: [], secrets }, previous);
  const { selectCertificate } = compilation.runtime.ports.get('|443')!;
  return { ...compilation, select: (name) => selectCertificate!(name) };
}

const one = secret('one', { names: ['one.example.com'] });
const wild = secret('wild', { names: ['*.example.com', 'example.com'] });
const other = secret('other', { names: ['other.test'] });

describe('selectCertificate', () => {
  test('takes the most specific listener and asks no other', () => {
    const { select, problems } = build(
      [
        listener('a', 'one.example.com', 'one'),
        listener('b', '*.example.com', 'wild'),
        listener('c', 'x.example.com', 'other'),
      ],
      [one, wild, other],
    );
    assert.deepEqual(problems, []);
    const contexts = ['one.example.com', 'two.example.com', 'x.example.com'].map(select);
    assert.equal(new Set(contexts).size, 3);
    assert.ok(contexts.every((context) => context !== undefined));
    assert.equal(select('ONE.example.com'), contexts[0]);
    assert.equal(select('one.example.com.'), contexts[0]);
    assert.equal(select('a.b.example.com'), contexts[1]);
  });

  test('refuses a name that no listener has, and no name without a listener for all', () => {
    const { select } = build([listener('a', '*.example.com', 'wild')], [wild]);
    assert.equal(select('other.test'), undefined);
    assert.equal(select('example.com'), undefined);
    assert.equal(select('not a name'), undefined);
    assert.equal(select(undefined), undefined);
    assert.equal(select(''), undefined);
  });

  test('gives clients without a name the first certificate of the listener for all', () => {
    const { select } = build(
      [listener('a', '', 'other', 'one'), listener('b', 'one.example.com', 'wild')],
      [one, wild, other],
    );
    assert.ok(select(undefined) !== undefined);
    assert.equal(select(undefined), select('other.test'));
    assert.equal(select('unknown.test'), select(undefined));
    assert.notEqual(select('one.example.com'), select(undefined));
  });

  test("chooses between a listener's certificates by their own names", () => {
    const { select } = build([listener('a', '', 'other', 'wild', 'one')], [one, wild, other]);
    const first = select(undefined);
    assert.equal(select('other.test'), first);
    assert.notEqual(select('one.example.com'), select('two.example.com'));
    assert.notEqual(select('two.example.com'), first);
    assert.equal(select('example.com'), select('two.example.com'));
    // A wildcard in a certificate is one label.
    assert.equal(select('a.b.example.com'), first);
  });

  test('keeps the first of several certificates with the same names, and says so', () => {
    const rsa = secret('rsa', { names: ['one.example.com'], keyType: 'rsa' });
    const { select, problems } = build([listener('a', '', 'one', 'rsa', 'wild')], [one, rsa, wild]);
    assert.deepEqual(problems, [
      {
        list: 'listeners',
        key: 'n/g/a',
        message:
          'the certificate Secret/n/rsa is never used: earlier certificates of this listener cover all its names',
      },
    ]);
    assert.equal(select('one.example.com'), select(undefined));
  });
});

describe('certificates that cannot be used', () => {
  const garbage = create(SecretSchema, {
    key: 'Secret/n/garbage',
    value: { case: 'tls', value: { certificateChain: 'x', privateKey: 'y' } },
  });
  const mixed = create(SecretSchema, {
    key: 'Secret/n/mixed',
    value: {
      case: 'tls',
      value: {
        certificateChain: one.value.case === 'tls' ? one.value.value.certificateChain : '',
        privateKey: createCertificate({ names: ['x'] }).key,
      },
    },
  });
  const authority = create(SecretSchema, { key: 'Secret/n/authority', value: { case: 'caCertificates', value: 'x' } });

  test('are reported with the listener, which refuses its names', () => {
    for (const [name, problem] of [
      ['garbage', /garbage cannot be used: the certificate chain is not PEM/],
      ['mixed', /mixed cannot be used: the private key does not belong to the certificate/],
      ['authority', /authority is missing/],
      ['absent', /absent is missing/],
    ] as const) {
      const { select, problems } = build(
        [listener('a', 'one.example.com', name), listener('b', '*.example.com', 'wild')],
        [garbage, mixed, authority, wild],
      );
      assert.deepEqual(
        problems.map(({ key }) => key),
        ['n/g/a', 'n/g/a'],
        name,
      );
      assert.match(problems[0]!.message, problem);
      assert.match(problems[1]!.message, /no usable certificate/);
      assert.equal(select('one.example.com'), undefined, 'the wider listener must not answer');
      assert.ok(select('two.example.com') !== undefined);
      assert.doesNotMatch(JSON.stringify(problems), /PRIVATE KEY/);
    }
  });

  test('leave the good ones of the same listener in use', () => {
    const { select, problems } = build([listener('a', '', 'garbage', 'one')], [garbage, one]);
    assert.equal(problems.length, 1);
    assert.ok(select('one.example.com') !== undefined);
  });
});

test('an unchanged certificate keeps its context over a change of configuration', () => {
  const first = build([listener('a', 'one.example.com', 'one'), listener('b', 'other.test', 'other')], [one, other]);
  const renewed = secret('other', { names: ['other.test'] });
  const second = build(
    [listener('a', 'one.example.com', 'one'), listener('b', 'other.test', 'other')],
    [one, renewed],
    first.runtime,
  );
  assert.equal(second.select('one.example.com'), first.select('one.example.com'));
  assert.notEqual(second.select('other.test'), first.select('other.test'));
});
