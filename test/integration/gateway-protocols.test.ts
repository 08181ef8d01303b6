// The request path from the outside: every protocol a client or an upstream can speak, through a real gateway process.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as requestHttp } from 'node:http';
import {
  createServer as createHttp2Server,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { after, before, describe, test, type TestContext } from 'node:test';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { findFreePorts } from '../kit/free-ports.ts';
import {
  type Answer,
  ask,
  type AskOptions,
  askHttp2,
  type Closable,
  gatewayOf,
  listenOnLoopback,
  mcpServiceOf,
  openRequest,
  openSession,
  readAccessLog,
  readEcho,
  readError,
  readText,
  receiveHead,
  receiveResponse,
  resource,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
  tlsSecretOf,
  type Upstream,
  valuesOf,
} from './gateway-fixture.ts';
import { RawClient } from './listen-fixture.ts';
import { routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';

const authority = createAuthority();
const issue = (name: string, keyType: 'ec' | 'rsa' = 'ec') =>
  createCertificate({ names: [name], issuer: authority, keyType });
const certificates = {
  exact: issue('a.test'),
  wildcard: issue('*.wild.test'),
  anyEc: issue('any-ec.test'),
  anyRsa: issue('any-rsa.test', 'rsa'),
  fromFile: issue('file-1.test'),
};
const upstreamAuthority = createAuthority('Upstream CA');

const closables: Closable[] = [];
const valueFolder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-values-'));
let gateway: GatewayRun;
let tlsPort = 0;
let upstream: Upstream;
let h2cPort = 0;
let securePort = 0;
const secureNames: (string | false | null)[] = [];
const h2cStreams: { readonly stream: ServerHttp2Stream; readonly raw: readonly string[] }[] = [];

function describeResources(port: number, exact = certificates.exact): object[] {
  const https = (name: string, hostname: string | undefined, ...secrets: string[]): object => ({
    name,
    port: tlsPort,
    protocol: 'HTTPS',
    ...(hostname === undefined ? {} : { hostname }),
    tls: { certificateRefs: secrets.map((secret) => ({ name: secret })) },
  });
  const secureBackend = (name: string, tls: object): object =>
    resource('gateway.proxy/v1alpha1', 'ProxyBackend', name, {
      spec: {
        mcp: { targets: [{ name, static: { host: '127.0.0.1', port: securePort, path: '/mcp' }, tls }] },
      },
    });
  return [
    gatewayOf('test', [
      { name: 'http', port, protocol: 'HTTP' },
      https('exact', 'a.test', 'exact'),
      https('wildcard', '*.wild.test', 'wildcard'),
      https('file', 'file.test', 'from-file'),
      https('any', undefined, 'any-ec', 'any-rsa'),
    ]),
    tlsSecretOf('exact', exact.cert, exact.key),
    tlsSecretOf('wildcard', certificates.wildcard.cert, certificates.wildcard.key),
    tlsSecretOf('any-ec', certificates.anyEc.cert, certificates.anyEc.key),
    tlsSecretOf('any-rsa', certificates.anyRsa.cert, certificates.anyRsa.key),
    tlsSecretOf('from-file', `\${file:${valueFolder}/tls.crt}`, `\${file:${valueFolder}/tls.key}`),
    routeResource('main', [rule('/', [serviceRef('main')])]),
    routeResource('h2c', [rule('/h2c', [serviceRef('h2c')])]),
    routeResource('h2c-mcp', [ruleTo('/h2c-mcp', 'h2c-mcp')]),
    routeResource('secure', [
      ruleTo('/secure', 'secure'),
      ruleTo('/wrong-authority', 'wrong-authority'),
      ruleTo('/wrong-name', 'wrong-name'),
      ruleTo('/system-authorities', 'system-authorities'),
      ruleTo('/unverified', 'unverified'),
    ]),
    ...serviceOf('main', [upstream.port]),
    ...serviceOf('h2c', [h2cPort], { appProtocol: 'kubernetes.io/h2c' }),
    mcpServiceOf('h2c-mcp', 'h2c', { path: '/h2c/mcp' }),
    secureBackend('secure', { sni: 'upstream.test', caCertificateRef: { name: 'upstream-ca' } }),
    secureBackend('wrong-authority', { sni: 'upstream.test', caCertificateRef: { kind: 'Secret', name: 'other-ca' } }),
    secureBackend('wrong-name', { sni: 'other.test', caCertificateRef: { name: 'upstream-ca' } }),
    secureBackend('system-authorities', { sni: 'upstream.test' }),
    secureBackend('unverified', { sni: 'upstream.test', insecureSkipVerify: true }),
    resource('v1', 'ConfigMap', 'upstream-ca', { data: { 'ca.crt': upstreamAuthority.cert } }),
    resource('v1', 'Secret', 'other-ca', { stringData: { 'ca.crt': authority.cert } }),
  ];
}

function writeValueFiles(pair: { readonly cert: string; readonly key: string }): void {
  for (const [name, text] of [
    ['tls.crt', pair.cert],
    ['tls.key', pair.key],
  ] as const) {
    writeFileSync(join(valueFolder, `.${name}`), text);
    renameSync(join(valueFolder, `.${name}`), join(valueFolder, name));
  }
}

before(async () => {
  upstream = await startUpstream();
  const h2c = createHttp2Server();
  h2c.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
    h2cStreams.push({ stream, raw });
    void answerH2c(stream, headers[':path'] ?? '');
  });
  const { cert, key } = createCertificate({ names: ['upstream.test'], issuer: upstreamAuthority });
  const secure = createHttpsServer({ cert, key }, (request, response) => {
    secureNames.push((request.socket as TLSSocket).servername);
    response.end(`secure ${request.headers.host}`);
  });
  const [listeningH2c, listeningSecure] = await Promise.all([listenOnLoopback(h2c), listenOnLoopback(secure)]);
  closables.push(upstream, listeningH2c, listeningSecure);
  h2cPort = listeningH2c.port;
  securePort = listeningSecure.port;
  [tlsPort] = (await findFreePorts(1)) as [number];
  writeValueFiles(certificates.fromFile);
  gateway = await runGateway({ resources: (port) => describeResources(port) });
});

async function answerH2c(stream: ServerHttp2Stream, path: string): Promise<void> {
  let trailers: object = {};
  stream.on('trailers', (fields: object) => (trailers = { ...fields }));
  stream.on('error', () => {});
  const body = await readText(stream).catch(() => 'broken');
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'abc' }));
  stream.respond({ ':status': 200, 'x-one': ['1', '2'] }, { waitForTrailers: true });
  stream.end(JSON.stringify({ path, body, trailers }));
}

after(async () => {
  await gateway?.stop();
  await Promise.all(closables.map((each) => each.close()));
  rmSync(valueFolder, { recursive: true, force: true });
});

function endWithTest<T extends { destroy(): unknown }>(t: TestContext, thing: T): T {
  t.after(() => thing.destroy());
  return thing;
}

/** Both ways a client can ask the same question. */
async function openClients(t: TestContext): Promise<
  {
    readonly version: string;
    ask(path: string, options?: AskOptions, body?: string): Promise<Answer>;
  }[]
> {
  const session = endWithTest(t, await openSession(gateway.port));
  return [
    { version: '1.1', ask: (path, options = {}, body) => ask(gateway.port, { path, ...options }, body) },
    {
      version: '2',
      ask: (path, options = {}, body) =>
        askHttp2(
          session,
          { ':path': path, ':method': options.method ?? 'GET', ...(options.headers as Record<string, string>) },
          body,
        ),
    },
  ];
}

async function handshake(t: TestContext, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = endWithTest(
    t,
    connectTls({ host: '127.0.0.1', port: tlsPort, rejectUnauthorized: false, ...options }),
  );
  await once(socket, 'secureConnect');
  return socket;
}

async function readCommonName(t: TestContext, options: ConnectionOptions): Promise<string> {
  const socket = await handshake(t, options);
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

describe('versions of HTTP', { timeout: 180_000 }, () => {
  test('ALPN chooses between HTTP/2 and HTTP/1.1; without it HTTP/1.1 is spoken', async (t) => {
    const socket = await handshake(t, { servername: 'a.test', ALPNProtocols: ['h2', 'http/1.1'] });
    assert.equal(socket.alpnProtocol, 'h2');
    const session = endWithTest(t, await openSession(tlsPort, { servername: 'a.test' }));
    const answer = await askHttp2(session, { ':path': '/alpn', ':authority': 'a.test' });
    assert.equal(valuesOf(readEcho(answer).headers, 'x-forwarded-proto')[0], 'https');
    for (const protocols of [['http/1.1'], undefined]) {
      const tls = { servername: 'a.test', ALPNProtocols: protocols as string[] };
      const one = await ask(tlsPort, { tls, path: '/alpn', headers: { host: 'a.test' } });
      assert.equal(readEcho(one).url, '/alpn');
    }
    await waitFor(() => readAccessLog(gateway).filter(({ path }) => path === '/alpn').length === 3);
    const versions = readAccessLog(gateway).filter(({ path }) => path === '/alpn');
    assert.deepEqual(
      versions.map(({ protocol, scheme }) => `${scheme} ${protocol}`),
      ['https HTTP/2', 'https HTTP/1.1', 'https HTTP/1.1'],
    );
  });

  test('HTTP/2 with prior knowledge and HTTP/1.1 share the cleartext port', async (t) => {
    const session = endWithTest(t, await openSession(gateway.port));
    const answers = await Promise.all([
      askHttp2(session, { ':path': '/two' }),
      ask(gateway.port, { path: '/one' }),
      askHttp2(session, { ':path': '/two', ':method': 'POST' }, 'body'),
    ]);
    assert.deepEqual(
      answers.map((answer) => `${readEcho(answer).url} ${readEcho(answer).body}`),
      ['/two ', '/one ', '/two body'],
    );
    assert.ok(answers.every(({ headers }) => headers['x-request-id'] !== undefined));
  });

  test('an HTTP/1.0 client gets an answer without chunks, ended by the end of the connection', async (t) => {
    upstream.handle('/stream-of-two', (_request, response) => {
      response.write('one,');
      response.end('two');
    });
    const socket = endWithTest(t, connectTcp(gateway.port, '127.0.0.1'));
    const client = new RawClient(socket);
    client.send('GET /stream-of-two HTTP/1.0\r\nHost: localhost\r\n\r\n');
    const received = await client.waitForClose();
    assert.match(received, /^HTTP\/1\.1 200 /);
    assert.doesNotMatch(received, /transfer-encoding/i);
    assert.ok(received.endsWith('\r\n\r\none,two'), received);
    assert.equal(client.error, undefined);
  });
});

describe('TLS', { timeout: 180_000 }, () => {
  test('each server name gets the certificate of its listener: exact, wildcard, any', async (t) => {
    const names = await Promise.all([
      readCommonName(t, { servername: 'a.test' }),
      readCommonName(t, { servername: 'A.TEST' }),
      readCommonName(t, { servername: 'x.wild.test' }),
      readCommonName(t, { servername: 'x.y.wild.test' }),
      readCommonName(t, { servername: 'file.test' }),
      readCommonName(t, { servername: 'elsewhere.test' }),
      readCommonName(t, {}),
    ]);
    const any = 'any-ec.test';
    assert.deepEqual(names, ['a.test', 'a.test', '*.wild.test', '*.wild.test', 'file-1.test', any, any]);
  });

  test('of two certificates on one listener the one that names the server is taken, else the first', async (t) => {
    assert.equal(await readCommonName(t, { servername: 'any-rsa.test' }), 'any-rsa.test');
    assert.equal(await readCommonName(t, { servername: 'any-ec.test' }), 'any-ec.test');
  });

  test('a host of another listener is misdirected on this connection: 421', async (t) => {
    const tls = { servername: 'a.test' };
    const misdirected = await ask(tlsPort, { tls, path: '/', headers: { host: 'x.wild.test' } });
    assert.equal(readError(misdirected), '421 misdirected_request');
    const session = endWithTest(t, await openSession(tlsPort, tls));
    const over2 = await askHttp2(session, { ':path': '/', ':authority': 'x.wild.test' });
    assert.equal(readError(over2), '421 misdirected_request');
    // The connection is as good as before for its own host, and two names of one listener share it.
    assert.equal((await askHttp2(session, { ':path': '/', ':authority': 'a.test' })).status, 200);
    const wild = endWithTest(t, await openSession(tlsPort, { servername: 'x.wild.test' }));
    assert.equal((await askHttp2(wild, { ':path': '/', ':authority': 'y.wild.test' })).status, 200);
  });

  test('TLS 1.1 is refused, 1.2 and 1.3 are served', async (t) => {
    const failuresBefore = await gateway.readMetric('mcp_gateway_tls_handshake_failures_total');
    const old = connectTls({
      host: '127.0.0.1',
      port: tlsPort,
      servername: 'a.test',
      rejectUnauthorized: false,
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    endWithTest(t, old);
    const [error] = (await once(old, 'error')) as [NodeJS.ErrnoException];
    assert.match(String(error.code), /PROTOCOL_VERSION|ALERT/);
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await handshake(t, { servername: 'a.test', minVersion: version, maxVersion: version });
      assert.equal(socket.getProtocol(), version);
    }
    await waitFor(
      async () => (await gateway.readMetric('mcp_gateway_tls_handshake_failures_total')) === failuresBefore + 1,
    );
  });
});

describe('a change of certificates', { timeout: 180_000 }, () => {
  /** One of each kind of connection that must not notice anything. */
  async function openConnections(t: TestContext, name: string) {
    let streamed: ((text: string) => void) | undefined;
    upstream.handle(`/events/${name}`, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 0\n\n');
      streamed = (text) => void response.write(`data: ${text}\n\n`);
    });
    const session: ClientHttp2Session = endWithTest(t, await openSession(tlsPort, { servername: name }));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    const secure = await handshake(t, { servername: name, ALPNProtocols: ['http/1.1'] });
    agent.createConnection = () => secure;
    const askOne = async (): Promise<number> => {
      const message = requestHttp({ agent, path: '/one', headers: { host: name } });
      message.end();
      const response = await receiveResponse(message);
      await readText(response);
      return response.statusCode!;
    };
    const askTwo = async (): Promise<number> =>
      (await askHttp2(session, { ':path': '/two', ':authority': name })).status;
    const stream = endWithTest(
      t,
      openRequest(tlsPort, { tls: { servername: name }, path: `/events/${name}`, headers: { host: name } }),
    );
    stream.end();
    const events = await receiveResponse(stream);
    let received = '';
    events.setEncoding('utf8').on('data', (text: string) => (received += text));
    events.on('error', (error) => (received += `error ${error.message}`));
    events.on('end', () => (received += 'ended'));
    assert.deepEqual([await askOne(), await askTwo()], [200, 200]);
    return {
      async assertAlive() {
        assert.deepEqual([await askOne(), await askTwo()], [200, 200]);
        assert.ok(!secure.destroyed && !session.destroyed);
        streamed!('after');
        await waitFor(() => received !== 'data: 0\n\n');
        assert.equal(received, 'data: 0\n\ndata: after\n\n');
      },
    };
  }

  test('of a Secret: the next handshake gets the new one, and open connections and streams go on', async (t) => {
    const open = await openConnections(t, 'a.test');
    const renewed = createCertificate({ names: ['a.test'], issuer: authority });
    gateway.write(describeResources(gateway.port, renewed));
    await waitFor(async () => {
      const socket = await handshake(t, { servername: 'a.test' });
      const pem = socket.getPeerX509Certificate()!.toString();
      socket.destroy();
      return pem === renewed.cert || pem.replaceAll(/\s/g, '') === renewed.cert.replaceAll(/\s/g, '');
    });
    await open.assertAlive();
  });

  test('of a file that a Secret names: the same', async (t) => {
    const open = await openConnections(t, 'file.test');
    writeValueFiles(issue('file-2.test'));
    await waitFor(async () => (await readCommonName(t, { servername: 'file.test' })) === 'file-2.test');
    await open.assertAlive();
  });

  test('to a key that does not belong to the certificate: said, not served, and the other listeners go on', async (t) => {
    writeValueFiles({ cert: issue('file-3.test').cert, key: issue('file-3.test').key });
    await waitFor(() => /from-file.*tls\.key does not belong/.test(gateway.readOutput()));
    const served = await readCommonName(t, { servername: 'file.test' }).catch(() => 'refused');
    assert.notEqual(served, 'file-3.test');
    assert.equal(await readCommonName(t, { servername: 'a.test' }), 'a.test');
    writeValueFiles(issue('file-4.test'));
    await waitFor(async () => (await readCommonName(t, { servername: 'file.test' }).catch(() => '')) === 'file-4.test');
  });
});

describe('WebSocket', { timeout: 180_000 }, () => {
  const accepted = (key: string): string =>
    createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const upgraded: Duplex[] = [];

  before(() => {
    // Greets, echoes, and has a last word when the client has ended its side.
    upstream.server.on('upgrade', (request, socket: Duplex, head: Buffer) => {
      socket.on('error', () => {});
      upgraded.push(socket);
      const key = request.headers['sec-websocket-key'] ?? '';
      const reply = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted(key)}\r\nSec-WebSocket-Protocol: mcp\r\n\r\n`;
      socket.write(`${reply}hello ${request.url};`);
      if (head.length > 0) socket.write(head);
      socket.on('data', (chunk: Buffer) => socket.write(chunk));
      socket.on('end', () => socket.end('last word'));
    });
  });

  test('an HTTP/1.1 client: bytes both ways, and each side ends for itself', async (t) => {
    const socket = endWithTest(t, connectTcp({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true }));
    const client = new RawClient(socket);
    const key = 'dGhlIHNhbXBsZSBub25jZQ==';
    client.send(
      `GET /chat?x=1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\nearly;`,
    );
    await client.waitForText('early;');
    const [head = '', body] = client.received.split('\r\n\r\n', 2);
    assert.match(head, /^HTTP\/1\.1 101 /);
    assert.ok(head.toLowerCase().includes(`sec-websocket-accept: ${accepted(key).toLowerCase()}`), head);
    assert.match(head, /^sec-websocket-protocol: mcp$/im);
    assert.equal(body, 'hello /chat?x=1;early;');
    client.send('ping;');
    await client.waitForText('ping;');
    socket.end('bye;');
    assert.ok((await client.waitForClose()).endsWith('bye;last word'));
    assert.equal(client.error, undefined);
  });

  test('an HTTP/2 client by extended CONNECT, to the same HTTP/1.1 upstream', async (t) => {
    const session = endWithTest(t, await openSession(tlsPort, { servername: 'a.test' }));
    await waitFor(() => session.remoteSettings?.enableConnectProtocol === true);
    const stream = session.request({
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':path': '/chat',
      ':scheme': 'https',
      ':authority': 'a.test',
      'sec-websocket-version': '13',
    });
    const client = new RawClient(stream);
    const head = await receiveHead(stream);
    assert.equal(head[':status'], 200);
    assert.equal(head['sec-websocket-accept'], undefined);
    assert.equal(head['sec-websocket-protocol'], 'mcp');
    await client.waitForText('hello /chat;');
    client.send('ping;');
    await client.waitForText('ping;');
    stream.end('bye;');
    assert.equal(await client.waitForClose(), 'hello /chat;ping;bye;last word');
    assert.equal(client.error, undefined);
  });

  test('a side that breaks off breaks the other', async (t) => {
    const open = async (): Promise<{ client: RawClient; peer: Duplex }> => {
      const socket = endWithTest(t, connectTcp(gateway.port, '127.0.0.1'));
      const client = new RawClient(socket);
      const count = upgraded.length;
      client.send('GET /chat HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      await client.waitForText('hello /chat;');
      return { client, peer: upgraded[count]! };
    };
    const first = await open();
    (first.client.stream as Socket).resetAndDestroy();
    await waitFor(() => first.peer.destroyed);
    const second = await open();
    (second.peer as Socket).resetAndDestroy();
    await second.client.waitForClose();
    assert.ok(!second.client.received.includes('last word'));
  });
});

describe('messages', { timeout: 180_000 }, () => {
  test('trailers of requests and answers, from both kinds of clients', async (t) => {
    upstream.handle('/trailers', (request, response) => {
      void readText(request).then((body) => {
        response.writeHead(200, { trailer: 'x-sum, x-seen' });
        response.write(body);
        response.addTrailers({ 'x-sum': 'abc', 'x-seen': String(request.trailers['x-check']) });
        response.end();
      });
    });
    const message = openRequest(gateway.port, { method: 'POST', path: '/trailers', headers: { trailer: 'x-check' } });
    message.write('one');
    message.addTrailers({ 'x-check': '42' });
    message.end();
    const response = await receiveResponse(message);
    assert.equal(await readText(response), 'one');
    assert.deepEqual({ ...response.trailers }, { 'x-sum': 'abc', 'x-seen': '42' });

    const session = endWithTest(t, await openSession(gateway.port));
    const answer = await askHttp2(session, { ':method': 'POST', ':path': '/trailers', trailer: 'x-check' }, 'two', {
      'x-check': '43',
    });
    assert.equal(answer.body, 'two');
    assert.deepEqual(answer.trailers, { 'x-sum': 'abc', 'x-seen': '43' });
    // Trailers that nobody announced survive as well.
    const silent = await askHttp2(session, { ':method': 'POST', ':path': '/trailers' }, 'three', { 'x-check': '44' });
    assert.deepEqual(silent.trailers, { 'x-sum': 'abc', 'x-seen': '44' });
  });

  test('unknown and repeated fields survive in order, hop-by-hop fields do not', async (t) => {
    upstream.handle('/fields', (request, response) => {
      response.writeHead(
        200,
        [
          ['X-Answer', 'b'],
          ['Set-Cookie', 'one=1'],
          ['x-answer', 'a'],
          ['Set-Cookie', 'two=2'],
          ['Connection', 'x-hop'],
          ['X-Hop', 'gone'],
          ['Keep-Alive', 'timeout=7'],
          ['Proxy-Authenticate', 'Basic'],
        ].flat(),
      );
      response.end(JSON.stringify(request.rawHeaders));
    });
    const sent = [
      'Host', 'localhost', 'X-Zebra', '1', 'x-apple', '2', 'X-Zebra', '3', 'X-Trace-Flags', 'ü'.normalize(),
      'traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'tracestate', 'a=1,b=2',
      'Connection', 'close, x-private', 'X-Private', 'gone', 'Keep-Alive', 'timeout=5', 'TE', 'trailers',
      'Proxy-Authorization', 'Basic x', 'X-Forwarded-For', '6.6.6.6', 'X-Request-Id', 'forged', 'Forwarded', 'for=6.6.6.6',
    ]; // prettier-ignore
    sent[9] = 'caf\u00e9';
    const one = await ask(gateway.port, { path: '/fields', headers: sent });
    const received = JSON.parse(one.body) as string[];
    const names = received.filter((_, index) => index % 2 === 0);
    assert.deepEqual(
      names.filter((name) => /^(x-zebra|x-apple|x-trace-flags)$/i.test(name)),
      ['X-Zebra', 'x-apple', 'X-Zebra', 'X-Trace-Flags'],
    );
    assert.deepEqual(valuesOf(received, 'x-zebra'), ['1', '3']);
    assert.deepEqual(valuesOf(received, 'x-trace-flags'), ['caf\u00e9']);
    assert.deepEqual(valuesOf(received, 'traceparent'), ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01']);
    assert.deepEqual(valuesOf(received, 'tracestate'), ['a=1,b=2']);
    for (const gone of ['x-private', 'te', 'proxy-authorization', 'forwarded']) {
      assert.deepEqual(valuesOf(received, gone), [], gone);
    }
    assert.doesNotMatch(valuesOf(received, 'connection').join(), /x-private|close/);
    assert.deepEqual(valuesOf(received, 'x-forwarded-for'), ['127.0.0.1']);
    assert.deepEqual(valuesOf(received, 'x-forwarded-host'), ['localhost']);
    assert.deepEqual(valuesOf(received, 'x-request-id'), [one.headers['x-request-id']]);
    assert.notEqual(one.headers['x-request-id'], 'forged');

    const session = endWithTest(t, await openSession(gateway.port));
    const two = await askHttp2(session, { ':path': '/fields', 'x-zebra': ['1', '3'], cookie: ['a=1', 'b=2'] });
    const over2 = JSON.parse(two.body) as string[];
    assert.deepEqual(valuesOf(over2, 'x-zebra').join(', '), '1, 3');
    // RFC 9113 section 8.2.3: crumbs of Cookie become one field again.
    assert.deepEqual(valuesOf(over2, 'cookie'), ['a=1; b=2']);

    for (const answer of [one, two]) {
      assert.deepEqual(valuesOf(answer.rawHeaders, 'x-answer'), ['b', 'a']);
      assert.deepEqual(valuesOf(answer.rawHeaders, 'set-cookie'), ['one=1', 'two=2']);
      for (const gone of ['x-hop', 'proxy-authenticate']) assert.deepEqual(valuesOf(answer.rawHeaders, gone), [], gone);
      assert.notEqual(answer.headers['keep-alive'], 'timeout=7');
    }
    assert.deepEqual(
      one.rawHeaders.filter((name, index) => index % 2 === 0 && /^x-answer$/i.test(name)),
      ['X-Answer', 'x-answer'],
    );
  });

  test('informational answers pass to both kinds of clients', async (t) => {
    upstream.handle('/hints', (_request, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => {
        response.end('done');
      });
    });
    for (const client of await openClients(t)) {
      const answer = await client.ask('/hints');
      assert.deepEqual([answer.informational, answer.status, answer.body], [[103], 200, 'done'], client.version);
    }
  });

  test('Expect: 100-continue: the body is asked for when somebody will read it, else refused unread', async (t) => {
    const message = openRequest(gateway.port, {
      method: 'POST',
      path: '/expect',
      headers: { expect: '100-continue', 'content-length': '4' },
    });
    message.flushHeaders();
    await once(message, 'continue');
    message.end('body');
    const echo = JSON.parse(await readText(await receiveResponse(message))) as { body: string; headers: string[] };
    assert.equal(echo.body, 'body');
    assert.deepEqual(valuesOf(echo.headers, 'expect'), []);

    const refused = openRequest(gateway.port, {
      method: 'POST',
      path: '/expect',
      headers: { host: 'nobody.test', expect: '100-continue', 'content-length': '4' },
    });
    let asked = false;
    refused.on('continue', () => (asked = true));
    refused.flushHeaders();
    const response = await receiveResponse(refused);
    assert.equal(response.statusCode, 403);
    assert.equal(asked, false);
    refused.destroy();

    const session = endWithTest(t, await openSession(gateway.port));
    const stream = session.request({ ':method': 'POST', ':path': '/expect', expect: '100-continue' });
    await once(stream, 'continue');
    stream.end('body');
    assert.equal((JSON.parse(await readText(stream)) as { body: string }).body, 'body');
  });

  test('HEAD, 204 and 304 have no body, and HEAD keeps the length', async (t) => {
    upstream.handle('/head', (_request, response) => response.writeHead(200, { 'content-length': '1234' }).end());
    upstream.handle('/204', (_request, response) => response.writeHead(204, { 'x-kept': '1' }).end());
    upstream.handle('/304', (_request, response) => response.writeHead(304, { etag: '"e"' }).end());
    upstream.handle('/202', (_request, response) => response.writeHead(202).end());
    for (const client of await openClients(t)) {
      const head = await client.ask('/head', { method: 'HEAD' });
      assert.deepEqual([head.status, head.headers['content-length'], head.body], [200, '1234', ''], client.version);
      const none = await client.ask('/204');
      assert.deepEqual([none.status, none.headers['x-kept'], none.body], [204, '1', '']);
      const unchanged = await client.ask('/304', { headers: { 'if-none-match': '"e"' } });
      assert.deepEqual([unchanged.status, unchanged.headers.etag, unchanged.body], [304, '"e"', '']);
      const empty = await client.ask('/202', { method: 'POST' }, '{}');
      assert.deepEqual([empty.status, empty.body], [202, '']);
      const own = await client.ask('/x', { method: 'HEAD', headers: { host: 'nobody.test' } });
      assert.deepEqual([own.status, own.body], [403, '']);
      assert.equal(own.headers['content-type'], undefined);
    }
  });

  test('answers of the upstream with 4xx and 5xx pass untouched', async (t) => {
    upstream.handle('/teapot', (_request, response) =>
      response.writeHead(418, 'Short And Stout').end('{"error":"own"}'),
    );
    upstream.handle('/broken', (_request, response) => response.writeHead(503, { 'retry-after': '7' }).end('busy'));
    for (const client of await openClients(t)) {
      const teapot = await client.ask('/teapot');
      assert.deepEqual([teapot.status, teapot.body], [418, '{"error":"own"}']);
      const broken = await client.ask('/broken');
      assert.deepEqual([broken.status, broken.headers['retry-after'], broken.body], [503, '7', 'busy']);
    }
  });
});

describe('upstreams', { timeout: 180_000 }, () => {
  test('TLS with a private authority: verified, with the configured server name', async () => {
    const answer = await ask(gateway.port, { path: '/secure' });
    assert.deepEqual([answer.status, answer.body], [200, `secure 127.0.0.1:${securePort}`]);
    assert.equal(secureNames.at(-1), 'upstream.test');
  });

  for (const [path, what] of [
    ['/wrong-authority', 'another authority'],
    ['/wrong-name', 'another name'],
    ['/system-authorities', 'none of the authorities of the system'],
  ] as const) {
    test(`a certificate of ${what} is not connected to: 502, and nothing was sent`, async () => {
      const count = secureNames.length;
      assert.equal(readError(await ask(gateway.port, { path, method: 'POST' }, 'secret')), '502 upstream_unreachable');
      assert.equal(secureNames.length, count);
      await waitFor(() => readAccessLog(gateway).some((line) => line['path'] === path));
      const line = readAccessLog(gateway).find((each) => each['path'] === path)!;
      assert.match(String(line['detail']), /certificate|altnames|issuer|self.signed/i);
    });
  }

  test('insecureSkipVerify takes any certificate', async () => {
    assert.equal((await ask(gateway.port, { path: '/unverified' })).status, 200);
  });

  test('appProtocol kubernetes.io/h2c speaks HTTP/2 to the upstream, with trailers both ways', async (t) => {
    const one = await ask(gateway.port, { method: 'POST', path: '/h2c/one?q=1' }, 'body');
    assert.deepEqual(JSON.parse(one.body), { path: '/h2c/one?q=1', body: 'body', trailers: {} });
    assert.deepEqual(one.trailers, { 'x-sum': 'abc' });
    assert.deepEqual(valuesOf(one.rawHeaders, 'x-one'), ['1', '2']);
    const session = endWithTest(t, await openSession(gateway.port));
    const two = await askHttp2(session, { ':method': 'POST', ':path': '/h2c/two', te: 'trailers' }, 'body', {
      'x-check': '1',
    });
    assert.deepEqual(JSON.parse(two.body), { path: '/h2c/two', body: 'body', trailers: { 'x-check': '1' } });
    assert.deepEqual(two.trailers, { 'x-sum': 'abc' });
    assert.deepEqual(valuesOf(h2cStreams.at(-1)!.raw, 'te'), ['trailers']);
    const mcp = await ask(gateway.port, { method: 'POST', path: '/h2c-mcp' }, '{}');
    assert.equal((JSON.parse(mcp.body) as { path: string }).path, '/h2c/mcp');
  });
});
