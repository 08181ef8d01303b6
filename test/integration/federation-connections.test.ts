// How targets of a federation are reached: over TLS with a certificate authority of their own, and without sessions that stay at an endpoint.
import assert from 'node:assert/strict';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { test, type TestContext } from 'node:test';
import { startFederatedGateway, describeFederation } from '../mcp/federated-gateway.ts';
import { startFederationServers } from '../mcp/federation-servers.ts';
import { runGateway } from '../kit/run-gateway.ts';
import { createAuthority, createCertificate, type TestAuthority } from '../self-signed-certificate.ts';
import { initialize, modern, post, printError, request } from './federation-fixture.ts';

/** Takes TLS in front of a server that speaks plain HTTP; resolves with the port. */
async function terminateTls(t: TestContext, port: number, authority: TestAuthority): Promise<number> {
  const { cert, key } = createCertificate({ names: ['server.example'], issuer: authority });
  const sockets = new Set<Socket>();
  const server = createServer({ cert, key }, (encrypted) => {
    const plain = connect(port, '127.0.0.1');
    for (const socket of [encrypted, plain]) {
      sockets.add(socket);
      socket.on('error', () => {
        encrypted.destroy();
        plain.destroy();
      });
    }
    encrypted.pipe(plain).pipe(encrypted);
  });
  // Clients that do not trust the certificate break off.
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

test('over TLS with a certificate authority of its own; one that another authority vouches for is down', async (t) => {
  const servers = await startFederationServers({
    older: { era: 'legacy' },
    newer: { era: 'modern' },
    wrong: { era: 'legacy' },
  });
  t.after(() => servers.closeAll());
  const [ours, theirs] = [createAuthority('Ours'), createAuthority('Theirs')];
  const urlOf = async (port: number, authority: TestAuthority): Promise<string> =>
    `http://127.0.0.1:${await terminateTls(t, port, authority)}/mcp`;
  const settings = { tls: { sni: 'server.example', caCertificateRef: { name: 'ours' } } };
  const gateway = await startFederatedGateway({
    targets: {
      older: { url: await urlOf(servers.older.port, ours), settings },
      newer: { url: await urlOf(servers.newer.port, ours), settings },
      wrong: { url: await urlOf(servers.wrong.port, theirs), settings },
    },
    resources: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ours' }, data: { 'ca.crt': ours.cert } }],
  });
  t.after(() => gateway.stop());
  const session = await initialize(gateway);
  const { body, headers } = modern('tools/list');
  for (const answer of [
    await post(gateway, request('tools/list'), { session }),
    await post(gateway, body, { headers }),
  ]) {
    const { tools, _meta: meta } = answer.messages.at(-1)!.result as { tools: { name: string }[]; _meta: object };
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['older_where', 'newer_where'],
    );
    assert.deepEqual(meta, { 'gateway.proxy/unavailable': ['wrong'] });
  }
  const call = (name: string) => post(gateway, request('tools/call', { name, arguments: {} }), { session });
  for (const name of ['older', 'newer'] as const) {
    // eslint-disable-next-line no-await-in-loop
    const { messages } = await call(`${name}_where`);
    assert.deepEqual(messages.at(-1)!.result!['content'], [{ type: 'text', text: `${name} where {}` }]);
  }
  assert.match(printError(await call('wrong_where')), /^-32603 .*wrong/);
  // Not even a request of the gateway itself.
  assert.equal(servers.wrong.requests.length, 0);
});

test('sessionRouting: Stateless balances the requests of a session over all endpoints of a target', async (t) => {
  const stateless = { era: 'legacy', isStateless: true } as const;
  const servers = await startFederationServers({ one: stateless, two: stateless, other: { era: 'modern' } });
  t.after(() => servers.closeAll());
  const slice = (name: string, port: number): object => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'kubernetes.io/service-name': 'pool' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port, protocol: 'TCP' }],
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
  });
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'pool' },
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
  };
  const gateway = await runGateway({
    resources: (port) => [
      ...describeFederation(port, {
        targets: {},
        mcp: {
          sessionRouting: 'Stateless',
          targets: [
            { name: 'pool', backendRef: { name: 'pool', port: 80 } },
            { name: 'other', static: { host: '127.0.0.1', port: servers.other.port } },
          ],
        },
      }),
      service,
      slice('pool-1', servers.one.port),
      slice('pool-2', servers.two.port),
    ],
  });
  t.after(() => gateway.stop());
  const session = await initialize(gateway);
  const reached = new Set<string>();
  for (let count = 0; count < 100 && reached.size < 2; count += 1) {
    // eslint-disable-next-line no-await-in-loop
    const { messages, text } = await post(gateway, request('tools/call', { name: 'pool_where', arguments: {} }), {
      session,
    });
    const { result } = messages.at(-1) ?? {};
    assert.ok(result, text);
    reached.add((result['content'] as { text: string }[])[0]!.text);
  }
  assert.deepEqual(reached, new Set(['one where {}', 'two where {}']));
});
