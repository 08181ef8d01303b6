// TLS ports: certificates by server name, their rotation, ALPN, and clients that are refused.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, test, type TestContext } from 'node:test';
import { type ConnectionOptions, connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { PortConfig } from '../../src/gateway/config/runtime-config.ts';
import type { Exchange } from '../../src/gateway/http/exchange.ts';
import { echoHandler, openPort, RawClient, toPorts } from './listen-fixture.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import { waitFor } from '../kit/wait-for.ts';

const authority = createAuthority();

function createContext(...names: string[]): SecureContext {
  const { cert, key } = createCertificate({ names, issuer: authority });
  return createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
}

type SelectCertificate = NonNullable<PortConfig['selectCertificate']>;

function selectFrom(contexts: Record<string, SecureContext>, fallback?: SecureContext): SelectCertificate {
  return (serverName) => {
    const context = serverName === undefined ? fallback : contexts[serverName];
    return context && { context, asksClients: false, clientAuthorities: undefined };
  };
}

/** Resolves with the socket after the handshake, rejects with the alert. */
async function handshake(t: TestContext, port: number, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca: authority.cert, ...options });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  socket.on('error', () => {});
  return socket;
}

function commonName(socket: TLSSocket): unknown {
  return socket.getPeerCertificate().subject.CN;
}

function serial(socket: TLSSocket): string {
  return socket.getPeerCertificate().serialNumber;
}

describe('certificates', () => {
  test('each server name gets its own, an unknown one an alert, none the fallback', async (t) => {
    const selectCertificate = selectFrom(
      { 'a.test': createContext('a.test'), 'b.test': createContext('b.test') },
      createContext('fallback.test'),
    );
    const { port, events } = await openPort(t, echoHandler, { config: { protocol: 'HTTPS', selectCertificate } });
    for (const servername of ['a.test', 'b.test']) {
      assert.equal(commonName(await handshake(t, port, { servername })), servername);
    }
    const withoutName = await handshake(t, port, { servername: '', checkServerIdentity: () => undefined });
    assert.equal(commonName(withoutName), 'fallback.test');
    for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
      await assert.rejects(handshake(t, port, { servername: 'c.test', maxVersion }), /unrecognized name/);
    }
    await waitFor(() => events.filter((event) => event.type === 'tls-handshake-failed').length === 2);
  });

  test('no server name and no fallback is refused with an alert', async (t) => {
    const selectCertificate = selectFrom({ 'a.test': createContext('a.test') });
    const { port } = await openPort(t, echoHandler, { config: { protocol: 'HTTPS', selectCertificate } });
    await assert.rejects(handshake(t, port, { servername: '' }), /alert handshake failure/);
    assert.equal(commonName(await handshake(t, port, { servername: 'a.test' })), 'a.test');
  });

  test('a context with two kinds of keys serves clients of both kinds', async (t) => {
    const [ec, rsa] = (['ec', 'rsa'] as const).map((keyType) =>
      createCertificate({ names: ['a.test'], issuer: authority, keyType }),
    );
    const context = createSecureContext({ cert: [ec!.cert, rsa!.cert], key: [ec!.key, rsa!.key] });
    const { port } = await openPort(t, echoHandler, {
      config: { protocol: 'HTTPS', selectCertificate: selectFrom({ 'a.test': context }) },
    });
    for (const [sigalgs, type] of [
      ['ecdsa_secp256r1_sha256', 'ec'],
      ['rsa_pss_rsae_sha256:ecdsa_secp384r1_sha384', 'rsa'],
    ] as const) {
      const socket = await handshake(t, port, {
        servername: 'a.test',
        sigalgs,
        checkServerIdentity: () => undefined,
        rejectUnauthorized: false,
      });
      assert.equal(socket.getPeerX509Certificate()!.publicKey.asymmetricKeyType, type);
    }
  });

  test('a ClientHello may come in single bytes', async (t) => {
    const selectCertificate = selectFrom({ 'a.test': createContext('a.test') });
    const { port } = await openPort(t, echoHandler, { config: { protocol: 'HTTPS', selectCertificate } });
    const tcp = connectTcp(port, '127.0.0.1');
    t.after(() => tcp.destroy());
    tcp.setNoDelay(true);
    tcp.on('error', () => {});
    const trickle = new Duplex({
      read: () => {},
      async write(chunk: Buffer, _encoding, callback) {
        for (const byte of chunk) {
          tcp.write(Buffer.from([byte]));
          await new Promise((resolve) => setImmediate(resolve));
        }
        callback();
      },
    });
    tcp.on('data', (chunk) => trickle.push(chunk));
    const secure = connect({ socket: trickle, ca: authority.cert, servername: 'a.test' });
    secure.on('error', () => {});
    t.after(() => secure.destroy());
    await once(secure, 'secureConnect');
    assert.equal(commonName(secure), 'a.test');
  });

  test('versions before TLS 1.2 are refused', async (t) => {
    const selectCertificate = selectFrom({}, createContext('a.test'));
    const { port } = await openPort(t, echoHandler, { config: { protocol: 'HTTPS', selectCertificate } });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    await assert.rejects(handshake(t, port, { servername: '', ...old }), /alert protocol version/);
  });

  test('a rotated certificate is used from the next handshake on, and open connections stay', async (t) => {
    const before = createContext('a.test', 'before.test');
    const { port, listeners, config } = await openPort(t, echoHandler, {
      config: { protocol: 'HTTPS', selectCertificate: selectFrom({ 'a.test': before }, before) },
    });
    const open = new RawClient(await handshake(t, port, { servername: 'a.test' }));
    const first = serial(open.stream as TLSSocket);
    const after = createContext('a.test', 'after.test');
    const rotated = { ...config, selectCertificate: selectFrom({ 'a.test': after }, after) };
    assert.deepEqual(await listeners.reconcile(toPorts(rotated)), []);
    const second = await handshake(t, port, { servername: 'a.test' });
    assert.notEqual(serial(second), first);
    assert.match(second.getPeerCertificate().subjectaltname!, /after.test/);
    open.send('GET /still HTTP/1.1\r\nHost: a.test\r\n\r\n');
    await open.waitForText('"/still"');
    // A name that is no longer served is refused, also when the client resumes a session from when it was.
    const removed = { ...config, selectCertificate: selectFrom({}) };
    await listeners.reconcile(toPorts(removed));
    await assert.rejects(handshake(t, port, { servername: 'a.test' }), /unrecognized name/);
  });

  test('a resumed session does not bring back a name that is gone', async (t) => {
    const context = createContext('a.test');
    const { port, listeners, config } = await openPort(t, echoHandler, {
      config: { protocol: 'HTTPS', selectCertificate: selectFrom({ 'a.test': context }, context) },
    });
    const first = connect({ host: '127.0.0.1', port, ca: authority.cert, servername: 'a.test', maxVersion: 'TLSv1.2' });
    t.after(() => first.destroy());
    const [session] = (await once(first, 'session')) as [Buffer];
    const resumed = await handshake(t, port, { servername: 'a.test', maxVersion: 'TLSv1.2', session });
    assert.equal(resumed.isSessionReused(), true);
    await listeners.reconcile(toPorts({ ...config, selectCertificate: selectFrom({}, context) }));
    const client = connect({
      host: '127.0.0.1',
      port,
      ca: authority.cert,
      servername: 'a.test',
      maxVersion: 'TLSv1.2',
      session,
    });
    t.after(() => client.destroy());
    const raw = new RawClient(client);
    raw.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    assert.equal(await raw.waitForClose(), '');
  });
});

describe('protocols', () => {
  test('ALPN chooses HTTP/2 or HTTP/1.1, and nothing offered means HTTP/1.1', async (t) => {
    const seen: Exchange[] = [];
    const selectCertificate = selectFrom({ 'a.test': createContext('a.test') });
    const { port } = await openPort(
      t,
      (exchange, config) => {
        seen.push(exchange);
        echoHandler(exchange, config);
      },
      { config: { protocol: 'HTTPS', selectCertificate } },
    );
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: authority.cert, servername: 'a.test' });
    t.after(() => session.destroy());
    const request = session.request({ ':path': '/two', ':authority': 'a.test' });
    request.resume();
    await once(request, 'end');
    assert.equal(session.alpnProtocol, 'h2');
    for (const ALPNProtocols of [['http/1.1'], undefined]) {
      const options = { servername: 'a.test', ...(ALPNProtocols === undefined ? {} : { ALPNProtocols }) };
      const client = new RawClient(await handshake(t, port, options));
      client.send('GET /one HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n');
      assert.match(await client.waitForClose(), /"version":"1.1"/);
    }
    assert.deepEqual(
      seen.map(({ scheme, serverName, httpVersion }) => [scheme, serverName, httpVersion]),
      [
        ['https', 'a.test', '2'],
        ['https', 'a.test', '1.1'],
        ['https', 'a.test', '1.1'],
      ],
    );
    await assert.rejects(
      handshake(t, port, { servername: 'a.test', ALPNProtocols: ['spdy/3'] }),
      /no application protocol/,
    );
  });

  test('abort and disconnect on TLS', async (t) => {
    const selectCertificate = selectFrom({}, createContext('a.test'));
    const closed: boolean[] = [];
    const { port } = await openPort(
      t,
      (exchange) => {
        exchange.onClose((clean) => closed.push(clean));
        exchange.sendHead(200, []);
        exchange.write(Buffer.from('part'));
        if (exchange.target === '/abort') setTimeout(() => exchange.abort(), 20);
      },
      { config: { protocol: 'HTTPS', selectCertificate } },
    );
    const options = { servername: '', checkServerIdentity: () => undefined };
    const client = new RawClient(await handshake(t, port, options));
    client.send('GET /abort HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.doesNotMatch(await client.waitForClose(), /0\r\n\r\n$/);
    const leaving = new RawClient(await handshake(t, port, options));
    leaving.send('GET /stay HTTP/1.1\r\nHost: x\r\n\r\n');
    await leaving.waitForText('part');
    leaving.stream.destroy();
    await waitFor(() => closed.length === 2);
    assert.deepEqual(closed, [false, false]);
  });

  test('upload and download over TLS', async (t) => {
    const selectCertificate = selectFrom({}, createContext('127.0.0.1'));
    const { port } = await openPort(t, echoHandler, { config: { protocol: 'HTTPS', selectCertificate } });
    const body = 'x'.repeat(3_000_000);
    const text = await new Promise<string>((resolve, reject) => {
      const request = httpsRequest(
        { port, host: '127.0.0.1', ca: authority.cert, method: 'POST', agent: false },
        (response) => {
          let received = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            received += chunk;
          });
          response.on('end', () => resolve(received));
        },
      );
      request.on('error', reject);
      request.end(body);
    });
    assert.equal((JSON.parse(text) as { body: string }).body.length, body.length);
  });

  test('a client that never starts its handshake, or speaks plain HTTP, is closed', async (t) => {
    const selectCertificate = selectFrom({}, createContext('a.test'));
    const { port, listeners } = await openPort(t, echoHandler, {
      config: { protocol: 'HTTPS', selectCertificate },
      limits: { headerTimeoutMs: 200 },
    });
    for (const text of ['', '\x16\x03\x01', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const client = new RawClient(connectTcp(port, '127.0.0.1'));
      t.after(() => client.stream.destroy());
      if (text !== '') client.send(text);
      await client.waitForClose();
    }
    await waitFor(() => listeners.connectionCount() === 0);
  });
});
