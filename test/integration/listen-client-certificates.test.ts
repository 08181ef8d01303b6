// TLS ports that ask clients for a certificate: who is let in, and who gets nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { describe, test, type TestContext } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import { compile } from '../../src/gateway/config/compile/compile.ts';
import type { PortConfig } from '../../src/gateway/config/runtime-config.ts';
import { ListenerProtocol, ListenerSchema, type Secret, SecretSchema } from '../../src/ir/gen/config_pb.ts';
import { createAuthority, createCertificate, type TestCertificate } from '../self-signed-certificate.ts';
import { echoHandler, type OpenPortFixture, openPort, toPorts } from './listen-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const serverAuthority = createAuthority('servers');
const clients = createAuthority('clients', 'rsa');
const otherClients = createAuthority('other clients');
/** Says that it is the authority that is trusted, and has another key. */
const impostor = { ...clients, privateKey: createAuthority('clients', 'rsa').privateKey };
const server = createCertificate({ names: ['a.test'], issuer: serverAuthority });
const client = createCertificate({ names: ['client.test'], issuer: clients });
const day = 86_400_000;

const strangers: Readonly<Record<string, TestCertificate | undefined>> = {
  'no certificate': undefined,
  'one of another authority': createCertificate({ names: ['client.test'], issuer: otherClients }),
  'a forged one': createCertificate({ names: ['client.test'], issuer: impostor }),
  'one that is signed by itself': createCertificate({ names: ['client.test'] }),
  "one of the server's authority": createCertificate({ names: ['client.test'], issuer: serverAuthority }),
  'one that has expired': createCertificate({
    names: ['client.test'],
    issuer: clients,
    notBefore: new Date(Date.now() - 2 * day),
    notAfter: new Date(Date.now() - day),
  }),
};

const versions = ['TLSv1.2', 'TLSv1.3'] as const;

interface Validation {
  readonly ca: readonly string[];
  readonly allowInsecureFallback?: boolean;
}

function compilePort(validation?: Validation): { readonly config: Partial<PortConfig>; readonly problems: string[] } {
  const authority = (key: string, value: string): Secret =>
    create(SecretSchema, { key, value: { case: 'caCertificates', value } });
  const { runtime, problems } = compile({
    routes: [],
    backends: [],
    policies: [],
    listeners: [
      create(ListenerSchema, {
        key: 'n/g/l',
        gateway: 'n/g',
        name: 'l',
        port: 443,
        protocol: ListenerProtocol.HTTPS,
        certificates: ['server'],
        ...(validation !== undefined && { clientValidation: { ...validation, ca: [...validation.ca] } }),
      }),
    ],
    secrets: [
      create(SecretSchema, {
        key: 'server',
        value: { case: 'tls', value: { certificateChain: server.cert, privateKey: server.key } },
      }),
      authority('clients', clients.cert),
      authority('other-clients', otherClients.cert),
      authority('broken', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
    ],
  });
  const { selectCertificate } = runtime.ports.get('|443')!;
  return { config: { protocol: 'HTTPS', selectCertificate }, problems: problems.map(({ message }) => message) };
}

const open = (t: TestContext, validation?: Validation): Promise<OpenPortFixture> =>
  openPort(t, echoHandler, { config: compilePort(validation).config });

/** Sends a request; what comes back until the connection ends, nothing if it is refused. */
async function ask(
  t: TestContext,
  port: number,
  identity: TestCertificate | undefined,
  options: ConnectionOptions,
): Promise<{ readonly text: string; readonly wasResumed: boolean; readonly session: Buffer | undefined }> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    ca: serverAuthority.cert,
    servername: 'a.test',
    ...identity,
    ...options,
  });
  t.after(() => socket.destroy());
  let text = '';
  let session: Buffer | undefined;
  let wasResumed = false;
  socket.on('error', () => {});
  socket.on('session', (value: Buffer) => (session = value));
  socket.on('secureConnect', () => (wasResumed = socket.isSessionReused()));
  socket.on('data', (data: Buffer) => (text += data.toString()));
  socket.write('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n');
  await new Promise((resolve) => socket.once('close', resolve));
  return { text, wasResumed, session };
}

const isServed = ({ text }: { readonly text: string }): boolean => text.startsWith('HTTP/1.1 200');

for (const version of versions) {
  const only = { minVersion: version, maxVersion: version };

  describe(version, { timeout: 180_000 }, () => {
    test('clients with a certificate of the authority are served', async (t) => {
      const { port, events } = await open(t, { ca: ['clients'] });
      assert.ok(isServed(await ask(t, port, client, only)));
      assert.ok(!events.some(({ type }) => type === 'tls-handshake-failed'));
    });

    for (const [who, identity] of Object.entries(strangers)) {
      test(`a client with ${who} is served nothing, and that is told`, async (t) => {
        let requests = 0;
        const { port, events } = await openPort(
          t,
          (...exchange) => {
            requests += 1;
            return echoHandler(...exchange);
          },
          { config: compilePort({ ca: ['clients'] }).config },
        );
        assert.equal((await ask(t, port, identity, only)).text, '');
        await waitFor(() => events.some(({ type }) => type === 'tls-handshake-failed'));
        const failed = events.flatMap((event) => (event.type === 'tls-handshake-failed' ? [event.detail] : []));
        assert.match(failed.join(), /certificate/);
        assert.equal(requests, 0);
        assert.ok(isServed(await ask(t, port, client, only)));
      });
    }

    test('any of several authorities will do', async (t) => {
      const { port } = await open(t, { ca: ['clients', 'other-clients'] });
      assert.ok(isServed(await ask(t, port, client, only)));
      assert.ok(isServed(await ask(t, port, strangers['one of another authority'], only)));
      assert.equal((await ask(t, port, strangers['one that is signed by itself'], only)).text, '');
    });

    test('with an insecure fallback everybody is served', async (t) => {
      const { port } = await open(t, { ca: ['clients'], allowInsecureFallback: true });
      for (const identity of [client, ...Object.values(strangers)])
        assert.ok(isServed(await ask(t, port, identity, only)));
    });

    test('a session from before certificates were asked for does not take the place of one', async (t) => {
      const { port, listeners, config } = await open(t);
      const { session } = await ask(t, port, undefined, only);
      assert.ok(session !== undefined);
      assert.equal((await ask(t, port, undefined, { ...only, session })).wasResumed, true, 'it can be resumed');
      await listeners.reconcile(toPorts({ ...config, ...compilePort({ ca: ['clients'] }).config }));
      assert.equal((await ask(t, port, undefined, { ...only, session })).text, '');
    });

    test('a session with a certificate is not resumed: each handshake shows one', async (t) => {
      const { port } = await open(t, { ca: ['clients'] });
      const first = await ask(t, port, client, only);
      assert.ok(isServed(first));
      const session = first.session === undefined ? {} : { session: first.session };
      const second = await ask(t, port, client, { ...only, ...session });
      assert.deepEqual([isServed(second), second.wasResumed], [true, false]);
      assert.equal((await ask(t, port, undefined, { ...only, ...session })).text, '');
    });
  });
}

test('another authority counts from the next handshake on', { timeout: 180_000 }, async (t) => {
  const { port, listeners, config } = await open(t, { ca: ['clients'] });
  assert.ok(isServed(await ask(t, port, client, {})));
  await listeners.reconcile(toPorts({ ...config, ...compilePort({ ca: ['other-clients'] }).config }));
  assert.equal((await ask(t, port, client, {})).text, '');
  assert.ok(isServed(await ask(t, port, strangers['one of another authority'], {})));
});

test('it is the same for HTTP/2', { timeout: 180_000 }, async (t) => {
  const { port } = await open(t, { ca: ['clients'] });
  const authority = `https://127.0.0.1:${port}`;
  const trust = { ca: serverAuthority.cert, servername: 'a.test' };
  const good = connectHttp2(authority, { ...trust, ...client });
  t.after(() => good.destroy());
  const stream = good.request({ ':path': '/' });
  const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
  assert.equal(headers[':status'], 200);
  const bad = connectHttp2(authority, trust);
  bad.on('error', () => {});
  t.after(() => bad.destroy());
  const refused = bad.request({ ':path': '/' });
  let answered = false;
  refused.on('response', () => (answered = true));
  refused.on('error', () => {});
  await new Promise((resolve) => refused.once('close', resolve));
  assert.equal(answered, false);
});

test('authorities that cannot be read refuse every handshake', { timeout: 180_000 }, async (t) => {
  for (const [ca, problem] of [
    [['absent'], /^the CA certificates absent are missing; TLS handshakes for its hostname are refused$/],
    [['server'], /server are missing/],
    [['broken'], /broken holds a CA certificate that cannot be read/],
    [['clients', 'broken'], /broken holds a CA certificate that cannot be read/],
    [[], /names no CA certificate/],
  ] as const) {
    for (const allowInsecureFallback of [false, true]) {
      const { config, problems } = compilePort({ ca, allowInsecureFallback });
      assert.equal(problems.length, 1);
      assert.match(problems[0]!, problem);
      const { port } = await openPort(t, echoHandler, { config });
      assert.equal((await ask(t, port, client, {})).text, '');
    }
  }
});
