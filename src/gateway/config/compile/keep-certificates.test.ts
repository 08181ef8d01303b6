import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { createManualClock } from '../../../../test/kit/manual-clock.ts';
import { createCertificate } from '../../../../test/self-signed-certificate.ts';
import { silentLog } from '../../../base/log.ts';
import { type Configuration, emptyConfiguration } from '../../../ir/configuration.ts';
import {
  type Listener,
  ListenerProtocol,
  ListenerSchema,
  RouteSchema,
  type Secret,
  SecretSchema,
} from '../../../ir/gen/config_pb.ts';
import { CertificateKeeper } from './certificate-keeper.ts';
import { closeWaitingListeners } from './close-waiting-listeners.ts';
import { keepCertificates, type Keeping } from './keep-certificates.ts';

const start = Date.UTC(2026, 0, 1);
const expiry = Date.UTC(2026, 1, 1);

function secret(name: string): Secret {
  const { cert, key } = createCertificate({
    names: [`${name}.example.com`],
    notBefore: new Date(start - 1_000),
    notAfter: new Date(expiry),
  });
  return create(SecretSchema, {
    key: name,
    value: { case: 'tls', value: { certificateChain: cert, privateKey: key } },
  });
}

function listener(name: string, certificates: readonly string[], awaited: readonly string[] = []): Listener {
  return create(ListenerSchema, {
    key: name,
    port: 443,
    protocol: ListenerProtocol.HTTPS,
    hostname: `${name}.example.com`,
    certificates: [...certificates],
    awaitedCertificates: [...awaited],
  });
}

const route = create(RouteSchema, { key: 'r/0', parents: [{ listener: 'web' }] });
const [web, other] = [secret('s-web'), secret('s-other')];

function configure(listeners: readonly Listener[], secrets: readonly Secret[]): Configuration {
  return { ...emptyConfiguration, listeners, secrets, routes: [route] };
}

const good = configure([listener('web', ['s-web'])], [web]);
const gone = configure([listener('web', ['s-web'], ['s-web'])], []);

/** What is served of it. */
const close = ({ configuration }: Keeping): Configuration => closeWaitingListeners(configuration);
const names = ({ configuration }: Keeping): readonly string[] => configuration.secrets.map(({ key }) => key);

function keepAll(...configurations: readonly Configuration[]): Keeping {
  let keeping: Keeping | undefined;
  for (const [index, each] of configurations.entries()) keeping = keepCertificates(each, keeping, start + index);
  return keeping!;
}

describe('a listener whose Secret is missing', () => {
  test('keeps the certificate that it had, with its routes, however often the configuration changes', () => {
    const keeping = keepAll(good, gone, { ...gone }, { ...gone });
    assert.deepEqual(keeping.kept, [{ listener: 'web', secret: 's-web', since: start + 1, expiresAt: expiry }]);
    assert.equal(keeping.configuration.secrets[0], web);
    assert.deepEqual(close(keeping).routes, [route]);
    assert.deepEqual(keeping.lacking, []);
  });

  test('gets the next one as soon as it is there', () => {
    const next = secret('s-web');
    const keeping = keepAll(good, gone, configure([listener('web', ['s-web'])], [next]));
    assert.deepEqual(keeping.kept, []);
    assert.equal(keeping.configuration.secrets[0], next);
  });

  test('has nothing to serve if it never had a certificate', () => {
    const keeping = keepAll(gone);
    assert.deepEqual(keeping.lacking, [{ listener: 'web', secret: 's-web' }]);
    assert.deepEqual([close(keeping).listeners, close(keeping).routes], [[], []]);
  });

  test('keeps nothing that has expired', () => {
    const keeping = keepCertificates(gone, keepAll(good, gone), expiry);
    assert.deepEqual([keeping.kept, names(keeping), close(keeping).listeners], [[], [], []]);
  });

  test('keeps its place among others', () => {
    const both = configure([listener('web', ['s-web', 's-other'])], [web, other]);
    const half = configure([listener('web', ['s-web', 's-other'], ['s-web'])], [other]);
    assert.deepEqual(close(keepAll(both, half)).listeners[0]!.certificates, ['s-web', 's-other']);
    assert.deepEqual(close(keepAll(half)).listeners[0]!.certificates, ['s-other']);
  });
});

describe('nothing is kept', () => {
  const closed = configure([listener('web', [])], []);

  test('that the listener may no longer use, also when it may again before the Secret is there', () => {
    assert.deepEqual(names(keepAll(good, closed)), []);
    assert.deepEqual(names(keepAll(good, gone, closed, gone)), []);
  });

  test('after the listener was deleted', () => {
    assert.deepEqual(names(keepAll(good, gone, configure([], []), gone)), []);
  });

  test('of another listener, or under another name', () => {
    const renamed = configure([listener('web', ['s-other'], ['s-other'])], []);
    assert.deepEqual(names(keepAll(good, renamed)), []);
    const moved = configure([listener('more', ['s-web'], ['s-web'])], []);
    assert.deepEqual(names(keepAll(good, moved)), []);
  });
});

test('a listener without a certificate reserves its hostname where its port is open', () => {
  const open = listener('wide', ['s-other']);
  const served = close(keepAll(configure([listener('web', ['s-web'], ['s-web']), open], [other])));
  assert.deepEqual(
    served.listeners.map(({ key, certificates }) => [key, certificates]),
    [
      ['web', []],
      ['wide', ['s-other']],
    ],
  );
  assert.deepEqual(served.routes, []);
});

test('the keeper asks for another turn when a certificate that it keeps expires', async () => {
  const clock = createManualClock(start);
  let turns = 0;
  const keeper: CertificateKeeper = new CertificateKeeper({
    clock,
    log: silentLog,
    onExpired: () => {
      turns += 1;
      keeper.keep(gone);
    },
  });
  keeper.keep(good);
  assert.deepEqual(clock.pendingDelays(), []);
  keeper.keep(gone);
  assert.match(keeper.describe()[0]!, /^listener web keeps .* until it expires at 2026-02-01T00:00:00Z: s-web is/);
  await clock.advance(expiry - start);
  assert.deepEqual([turns, keeper.kept, clock.pendingDelays()], [1, [], []]);
});
