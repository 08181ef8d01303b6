// TLS of the xDS port: the certificate that is there at the moment of the handshake, and none is none.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { test } from 'node:test';
import { Code } from '@connectrpc/connect';
import { Watchable } from '../../src/base/watchable.ts';
import type { XdsCertificate } from '../../src/xds/server.ts';
import { makeSnapshot } from '../../src/xds/testing/small-snapshots.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import { gateway, startServer, TestGateway } from './xds-server-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const scheme = 'https';

function issue(): { ca: string; certificate: XdsCertificate } {
  const issuer = createAuthority();
  const { cert, key } = createCertificate({ names: ['127.0.0.1'], issuer });
  return { ca: issuer.cert, certificate: { certificateChain: cert, privateKey: key } };
}

function waitUntilClosed(socket: Socket): Promise<void> {
  socket.on('error', () => {});
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

const [first, second] = [issue(), issue()];

test('a rotated certificate is used by the next handshake, and open streams go on', options, async (t) => {
  const certificate = new Watchable<XdsCertificate | undefined>(first.certificate);
  const { server } = await startServer(t, { certificate });
  const snapshot = makeSnapshot({ secrets: { s: '1' } });
  server.setSnapshot(gateway, snapshot);
  const old = new TestGateway(t, server.port, { scheme, ca: first.ca }).subscribeAll();
  await waitFor(() => old.client.digest === snapshot.digest);

  certificate.set(second.certificate);
  const young = new TestGateway(t, server.port, { scheme, ca: second.ca }).subscribeAll();
  await waitFor(() => young.client.digest === snapshot.digest);
  const stale = new TestGateway(t, server.port, { scheme, ca: first.ca }).subscribeAll();
  await stale.ended;
  assert.deepEqual(stale.responses, []);

  const next = makeSnapshot({ secrets: { s: '2' } });
  server.setSnapshot(gateway, next);
  await waitFor(() => [old, young].every(({ client }) => client.digest === next.digest));
});

test('without a certificate handshakes are refused, until there is one', options, async (t) => {
  const certificate = new Watchable<XdsCertificate | undefined>(undefined);
  const { server, counts } = await startServer(t, { certificate });
  const snapshot = makeSnapshot({ secrets: { s: '1' } });
  server.setSnapshot(gateway, snapshot);
  const refused = new TestGateway(t, server.port, { scheme, ca: first.ca }).subscribeAll();
  await refused.ended;
  certificate.set(first.certificate);
  const served = new TestGateway(t, server.port, { scheme, ca: first.ca }).subscribeAll();
  await waitFor(() => served.client.digest === snapshot.digest);
  certificate.set(undefined);
  const again = new TestGateway(t, server.port, { scheme, ca: first.ca }).subscribeAll();
  await again.ended;
  assert.deepEqual([refused.responses, again.responses], [[], []]);
  assert.equal(counts.open, 1);
});

test('a certificate that cannot be used leaves the one before it', options, async (t) => {
  const certificate = new Watchable<XdsCertificate | undefined>(first.certificate);
  const { server } = await startServer(t, { certificate });
  const snapshot = makeSnapshot({ secrets: { s: '1' } });
  server.setSnapshot(gateway, snapshot);
  const broken: XdsCertificate[] = [
    { certificateChain: 'nonsense', privateKey: first.certificate.privateKey },
    { certificateChain: first.certificate.certificateChain, privateKey: second.certificate.privateKey },
  ];
  for (const pair of broken) {
    certificate.set(pair);
    const peer = new TestGateway(t, server.port, { scheme, ca: first.ca }).subscribeAll();
    await waitFor(() => peer.client.digest === snapshot.digest);
  }
});

test('a port with TLS does not answer in plaintext', options, async (t) => {
  const { server, counts } = await startServer(t, { certificate: new Watchable(first.certificate) });
  server.setSnapshot(gateway, makeSnapshot({ secrets: { s: '1' } }));
  const peer = new TestGateway(t, server.port).subscribeAll();
  assert.notEqual((await peer.ended).code, Code.Unknown);
  assert.deepEqual([peer.responses, counts.open], [[], 0]);
});

test('garbage and broken handshakes end themselves, and nothing else', options, async (t) => {
  const { server } = await startServer(t, { certificate: new Watchable(first.certificate) });
  const snapshot = makeSnapshot({ secrets: { s: '1' } });
  server.setSnapshot(gateway, snapshot);
  for (const bytes of ['GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\x02\x00\x01', '\x16\x03\x01\x00\x05hello']) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    await new Promise<void>((resolve) => socket.write(bytes, 'latin1', () => resolve()));
    socket.resetAndDestroy();
  }
  // TLS without HTTP/2 in it, and with a certificate that the client does not take.
  const other = connectTls({ port: server.port, host: '127.0.0.1', ca: first.ca, ALPNProtocols: ['http/1.1'] });
  await waitUntilClosed(other);
  const untrusting = connectTls({ port: server.port, host: '127.0.0.1', ca: second.ca, ALPNProtocols: ['h2'] });
  await waitUntilClosed(untrusting);
  const peer = new TestGateway(t, server.port, { scheme, ca: first.ca }).subscribeAll();
  await waitFor(() => peer.client.digest === snapshot.digest);
});
