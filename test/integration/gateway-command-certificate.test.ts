// `mcp-gatehouse gateway` when the Secret of a listener goes missing at the controller: it keeps serving, and tells the controller.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import type { Configuration } from '../../src/ir/configuration.ts';
import { ListenerProtocol, SecretSchema } from '../../src/ir/gen/config_pb.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';
import { createCertificate } from '../self-signed-certificate.ts';
import { configure, publish, route, startController, startGatewayCommand, waitForSettled } from './gateway-command-fixture.ts'; // prettier-ignore
import { startUpstream, type Upstream } from './gateway-fixture.ts';

let upstream: Upstream;
before(async () => {
  upstream = await startUpstream();
});
after(() => upstream.close());

const { cert, key } = createCertificate({ names: ['web.test'] });
const secret = create(SecretSchema, {
  key: 'Secret/n/web',
  value: { case: 'tls', value: { certificateChain: cert, privateKey: key } },
});

/** The configuration with its listener on HTTPS. `awaited`: the Secret is missing. */
function secure(configuration: Configuration, certificates: readonly string[], awaited: boolean): Configuration {
  const listeners = configuration.listeners.map((listener) => ({
    ...listener,
    protocol: ListenerProtocol.HTTPS,
    certificates: [...certificates],
    awaitedCertificates: awaited ? [...certificates] : [],
  }));
  return { ...configuration, listeners, secrets: certificates.length > 0 && !awaited ? [secret] : [] };
}

const hasHandshake = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'web.test', rejectUnauthorized: false }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });

test('a Secret goes missing and comes back; then it may no longer be used', async (t) => {
  const server = await startController(t);
  const [port] = (await findFreePorts(1)) as [number];
  await startGatewayCommand(t, `http://127.0.0.1:${server.port}`);
  const plain = configure(port, upstream.port, { routes: [route('r', '/')] });
  const settle = (certificates: readonly string[], awaited: boolean): Promise<void> =>
    waitForSettled(server, publish(server, secure(plain, certificates, awaited)));
  const readKept = () => server.connected.get()[0]?.keptCertificates ?? [];

  await settle([secret.key], false);
  assert.equal(await hasHandshake(port), true);
  assert.deepEqual(readKept(), []);

  await settle([secret.key], true);
  assert.equal(await hasHandshake(port), true);
  await waitFor('the controller knows', () => readKept().length === 1);
  assert.deepEqual([readKept()[0]!.listener, readKept()[0]!.secret], ['n/g/http', secret.key]);
  assert.ok(readKept()[0]!.since <= Date.now() / 1_000 && readKept()[0]!.expiresAt > Date.now() / 1_000);
  assert.deepEqual(server.connected.get()[0]!.rejections, []);

  await settle([secret.key], false);
  assert.equal(await hasHandshake(port), true);
  await waitFor('the controller knows', () => readKept().length === 0);

  await settle([secret.key], true);
  await settle([], false);
  assert.equal(await hasHandshake(port), false);
  await settle([secret.key], true);
  assert.equal(await hasHandshake(port), false, 'what was closed on purpose stays closed');
  assert.deepEqual(server.connected.get()[0]!.rejections, []);
  await waitFor('the controller knows', () => readKept().length === 0);
});
