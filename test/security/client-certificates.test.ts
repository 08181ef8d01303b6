// A listener that wants certificates of its clients cannot be reached on a connection without one, whatever way it was opened.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test, type TestContext } from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { ServedRoutes } from '../../src/gateway/admin/describe-routes.ts';
import { describeBadge } from '../../src/gateway/admin/protection-badge.ts';
import {
  askHttp2,
  gatewayOf,
  openSession,
  readError,
  resource,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
  tlsSecretOf,
  type Upstream,
} from '../integration/gateway-fixture.ts';
import { RawClient } from '../integration/listen-fixture.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';

const clients = createAuthority('clients');
const otherClients = createAuthority('other clients');
const client = createCertificate({ names: ['client.test'], issuer: clients });
const otherClient = createCertificate({ names: ['client.test'], issuer: otherClients });
const server = createCertificate({ names: ['guarded.test', 'localhost'] });

let upstream: Upstream;
let gateway: GatewayRun;

/** The Gateway that is guarded has the port of the other one, which is not, and takes all other names on it. */
function createResources(
  port: number,
  authority: string | undefined,
  version: string,
  mode = 'AllowValidOnly',
): readonly object[] {
  const https = (name: string, rest: object = {}): object => ({
    name,
    protocol: 'HTTPS',
    port,
    tls: { certificateRefs: [{ name: 'server' }] },
    ...rest,
  });
  const caCertificateRefs = [{ group: '', kind: 'ConfigMap', name: 'clients' }];
  const guarded = gatewayOf('guarded', [https('guarded', { hostname: 'guarded.test' })]) as { spec: object };
  return [
    authority === undefined
      ? guarded
      : {
          ...guarded,
          spec: { ...guarded.spec, tls: { frontend: { default: { validation: { caCertificateRefs, mode } } } } },
        },
    gatewayOf('open', [https('open')]),
    tlsSecretOf('server', server.cert, server.key),
    resource('v1', 'ConfigMap', 'clients', { data: { 'ca.crt': authority ?? clients.cert } }),
    ...serviceOf('upstream', [upstream.port]),
    ...['guarded', 'open'].map((name) =>
      resource('gateway.networking.k8s.io/v1', 'HTTPRoute', name, {
        spec: {
          parentRefs: [{ name }],
          // Tells which configuration is in force.
          rules: [
            rule('/', [serviceRef('upstream')], {
              filters: [
                {
                  type: 'ResponseHeaderModifier',
                  responseHeaderModifier: { set: [{ name: 'x-version', value: version }] },
                },
              ],
            }),
          ],
        },
      }),
    ),
  ];
}

before(async () => {
  upstream = await startUpstream();
  gateway = await runGateway({ resources: (port) => createResources(port, clients.cert, 'first') });
});

after(async () => {
  await gateway?.stop();
  await upstream?.close();
});

async function openConnection(t: TestContext, options: ConnectionOptions): Promise<RawClient> {
  const socket: TLSSocket = connect({ host: '127.0.0.1', port: gateway.port, rejectUnauthorized: false, ...options });
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return new RawClient(socket);
}

/** The head of the answer to a request on an open connection. */
async function askFor(connection: RawClient, host: string): Promise<string> {
  const start = connection.received.length;
  connection.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await waitFor(() => connection.closed || /\r\n\r\n/.test(connection.received.slice(start)));
  const head = connection.received.slice(start).split('\r\n\r\n', 1)[0]!;
  // The body may come later; the next answer begins after it.
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  await waitFor(() => connection.closed || connection.received.length >= start + head.length + 4 + length);
  return head;
}

/** What the admin port says about the routes: the listener, what protects it, and what is counted as open. */
async function readProtection(): Promise<readonly string[]> {
  const answer = await fetch(`http://127.0.0.1:${gateway.adminPort}/routes?format=json`);
  const served = (await answer.json()) as ServedRoutes;
  return served.ports
    .flatMap(({ listeners }) => listeners)
    .map(({ listener, matches: [match] }) => `${listener}: ${describeBadge(match!.protection, false).text}`)
    .toSorted();
}

describe('a listener that wants certificates', { timeout: 180_000 }, () => {
  test('serves clients that have one', async (t) => {
    const connection = await openConnection(t, { servername: 'guarded.test', ...client });
    assert.match(await askFor(connection, 'guarded.test'), /^HTTP\/1.1 200 /);
  });

  test('protects its routes by that, and the listener beside it is open', async () => {
    assert.deepEqual(await readProtection(), [
      'default/guarded/guarded: client certificate',
      'default/open/open: OPEN: no policy',
    ]);
    const overview = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/`)).text();
    assert.match(overview, /1 of 2 routes/);
    assert.match(overview, />client certificate</);
  });

  test('serves none on a connection for a listener that does not want one', async (t) => {
    const { hits } = upstream;
    for (const servername of ['localhost', '']) {
      const connection = await openConnection(t, { servername });
      assert.match(await askFor(connection, 'guarded.test'), /^HTTP\/1.1 421 /, JSON.stringify(servername));
      assert.equal(upstream.hits, hits);
    }
  });

  test('serves none there either over HTTP/2, while others are served', async (t) => {
    for (const servername of ['localhost', '']) {
      const session = await openSession(gateway.port, { servername });
      t.after(() => session.destroy());
      const answer = await askHttp2(session, { ':path': '/', ':authority': 'guarded.test' });
      assert.equal(readError(answer), '421 misdirected_request');
      assert.equal((await askHttp2(session, { ':path': '/', ':authority': 'localhost' })).status, 200);
    }
  });

  test('stops serving connections whose certificate is no longer accepted', async (t) => {
    const waitForVersion = (version: string): Promise<true> =>
      waitFor(async () => {
        const connection = await openConnection(t, { servername: 'localhost' });
        const head = await askFor(connection, 'localhost');
        connection.stream.destroy();
        return head.toLowerCase().includes(`x-version: ${version}`);
      });
    gateway.write(createResources(gateway.port, undefined, 'unguarded'));
    await waitForVersion('unguarded');
    const without = await openConnection(t, { servername: 'guarded.test' });
    assert.match(await askFor(without, 'guarded.test'), /^HTTP\/1.1 200 /);

    gateway.write(createResources(gateway.port, clients.cert, 'guarded'));
    await waitForVersion('guarded');
    assert.match(await askFor(without, 'guarded.test'), /^HTTP\/1.1 421 /);
    const old = await openConnection(t, { servername: 'guarded.test', ...client });
    assert.match(await askFor(old, 'guarded.test'), /^HTTP\/1.1 200 /);

    gateway.write(createResources(gateway.port, otherClients.cert, 'other'));
    await waitForVersion('other');
    assert.match(await askFor(old, 'guarded.test'), /^HTTP\/1.1 421 /);
    const fresh = await openConnection(t, { servername: 'guarded.test', ...otherClient });
    assert.match(await askFor(fresh, 'guarded.test'), /^HTTP\/1.1 200 /);

    // Clients without a certificate are served as well.
    gateway.write(createResources(gateway.port, clients.cert, 'fallback', 'AllowInsecureFallback'));
    await waitForVersion('fallback');
    assert.deepEqual(await readProtection(), [
      'default/guarded/guarded: OPEN: no policy',
      'default/open/open: OPEN: no policy',
    ]);
  });
});
