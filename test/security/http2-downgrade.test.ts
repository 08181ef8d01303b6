// HTTP/2 requests on their way to an HTTP/1 upstream (RFC 9113, 10.3): nothing in a frame becomes a line of its own there.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, before, beforeEach, describe, test } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { closeRoute } from './closed-policy.ts';
import {
  connectHttp2Wire,
  endHeaders,
  endStream,
  frameTypes,
  pseudoFields,
  writeFields,
  writeFrame,
} from './http2-wire.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { sendHead } from './wire-client.ts';

let gateway: GatewayRun;
let upstream: RecordingUpstream;

before(async () => {
  upstream = await startRecordingUpstream('upstream');
  gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource('all', [ruleTo('/', 'all')]),
      routeResource('sockets', [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/socket' }, method: 'GET' }],
          backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'all' }],
        },
      ]),
      closeRoute('sockets', 'sockets'),
      backendResource('all', upstream.port, '/'),
    ],
  });
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => upstream.forget());

type Fields = readonly (readonly [string, string])[];
const get = pseudoFields('GET', '/front');
const post = pseudoFields('POST', '/front');
const replaced = (name: string, value: string): [string, string][] =>
  get.map(([field, original]) => [field, field === name ? value : original]);

/** Heads that must not reach the upstream; `body` follows as DATA. */
const refused: Record<string, { fields: Fields; body?: string }> = {
  'transfer-encoding': {
    fields: [...post, ['transfer-encoding', 'chunked']],
    body: '0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n',
  },
  'transfer-encoding with a length': {
    fields: [...post, ['content-length', '3'], ['transfer-encoding', 'chunked']],
    body: 'abc',
  },
  connection: { fields: [...get, ['connection', 'keep-alive, transfer-encoding']] },
  'keep-alive': { fields: [...get, ['keep-alive', 'timeout=5']] },
  'proxy-connection': { fields: [...get, ['proxy-connection', 'keep-alive']] },
  upgrade: { fields: [...get, ['upgrade', 'websocket']] },
  'te other than trailers': { fields: [...get, ['te', 'chunked']] },
  'content-length that is too small (H2.CL)': {
    fields: [...post, ['content-length', '0']],
    body: 'GET /smuggled HTTP/1.1\r\n\r\n',
  },
  'content-length without a body': { fields: [...get, ['content-length', '5']] },
  'content-length that is no number': { fields: [...post, ['content-length', '+3']], body: 'abc' },
  'content-length twice': { fields: [...post, ['content-length', '3'], ['content-length', '3']], body: 'abc' },
  'content-length twice, different': {
    fields: [...post, ['content-length', '3'], ['content-length', '0']],
    body: 'abc',
  },
  'content-length as a list': { fields: [...post, ['content-length', '3, 3']], body: 'abc' },
  'an upper-case name': { fields: [...get, ['Transfer-Encoding', 'chunked']] },
  'CRLF in :path': { fields: replaced(':path', '/front HTTP/1.1\r\nX: y\r\n\r\nGET /smuggled') },
  'a space in :path': { fields: replaced(':path', '/front HTTP/1.1') },
  'an absolute :path': { fields: replaced(':path', 'http://localhost/front') },
  'an empty :path': { fields: replaced(':path', '') },
  'a :path that is no path': { fields: replaced(':path', 'front') },
  'a fragment in :path': { fields: replaced(':path', '/front#x') },
  'CRLF in :method': { fields: replaced(':method', 'GET / HTTP/1.1\r\nX: y\r\n\r\nGET') },
  'a space in :method': { fields: replaced(':method', 'GET /smuggled') },
  'an empty :method': { fields: replaced(':method', '') },
  'CRLF in :authority': { fields: replaced(':authority', 'localhost\r\nX: y') },
  'user information in :authority': { fields: replaced(':authority', 'user@localhost') },
  'a path in :authority': { fields: replaced(':authority', 'localhost/smuggled') },
  ':authority and another host': { fields: [...get, ['host', 'other.test']] },
  'two hosts': { fields: [...get.slice(0, 3), ['host', 'localhost'], ['host', 'localhost']] },
  'CRLF in :scheme': { fields: replaced(':scheme', 'http\r\nX: y') },
  'two :path': { fields: [...get, [':path', '/smuggled']] },
  'two :method': { fields: [...get, [':method', 'POST']] },
  'two :authority': { fields: [...get, [':authority', 'localhost']] },
  'no :path': { fields: get.filter(([name]) => name !== ':path') },
  'no :method': { fields: get.filter(([name]) => name !== ':method') },
  'no :scheme': { fields: get.filter(([name]) => name !== ':scheme') },
  'a pseudo-header of an answer': { fields: [...get, [':status', '200']] },
  'an unknown pseudo-header': { fields: [...get, [':x', 'y']] },
  'a pseudo-header behind a field': { fields: [...get.slice(0, 3), ['x', 'y'], get[3]!] },
  ':protocol without CONNECT': { fields: [...get, [':protocol', 'websocket']] },
  'a CONNECT to somewhere else': {
    fields: [
      [':method', 'CONNECT'],
      [':authority', 'other.test:443'],
    ],
  },
};

/** The parser leaves out a field that HTTP/2 does not allow: router, policies and upstream agree that it was never there. */
const dropped: Record<string, readonly [string, string]> = {
  'CRLF in a value': ['x', 'y\r\nTransfer-Encoding: chunked'],
  'CRLF and a request in a value': ['x', 'y\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a'],
  'LF in a value': ['x', 'y\nz: a'],
  'CR in a value': ['x', 'y\rz: a'],
  'NUL in a value': ['x', 'y\0z: a'],
  'a control in a value': ['x', 'y\x01z: a'],
  'CRLF in a name': ['x: y\r\nz', 'a'],
  'a colon in a name': ['x: y', 'a'],
  'a space in a name': ['transfer-encoding ', 'chunked'],
  'an empty name': ['', 'a'],
};

describe('a field that would break a line never leaves the gateway', () => {
  for (const [name, field] of Object.entries(dropped)) {
    test(name, async (t) => {
      const client = await connectHttp2Wire(t, gateway.port);
      const marked = writeFields([...get, field, ['x-marker', 'behind']]);
      client.wire.send(writeFrame(frameTypes.headers, endHeaders | endStream, 1, marked));
      await client.waitForStreamEnd(1);
      assert.deepEqual(
        upstream.requests.map((request) => [request.method, request.url, request.all('x-marker')]),
        client.readData(1) === 'upstream GET /front' ? [['GET', '/front', ['behind']]] : [],
      );
      assert.doesNotMatch(upstream.bytes, /smuggled|transfer-encoding|z: a|x: y|^:/im);
    });
  }
});

describe('refused on the stream, and nothing of it reaches the upstream', () => {
  for (const [name, { fields, body }] of Object.entries(refused)) {
    test(name, async (t) => {
      const client = await connectHttp2Wire(t, gateway.port);
      const flags = body === undefined ? endHeaders | endStream : endHeaders;
      client.wire.send(writeFrame(frameTypes.headers, flags, 1, writeFields(fields)));
      if (body !== undefined) client.wire.send(writeFrame(frameTypes.data, endStream, 1, Buffer.from(body)));
      await client.waitForStreamEnd(1);
      const answer = client.readData(1);
      // Either the parser resets it, or the gateway says what is wrong.
      if (answer === '')
        assert.ok(client.wire.closed || client.hasFrame(frameTypes.rstStream, 1) || client.hasFrame(frameTypes.goaway));
      else assert.match(answer, /^\{"error":"(?:bad_request|bad_target|missing_host)"/);
      assert.deepEqual(upstream.requests, []);
      assert.doesNotMatch(upstream.bytes, /smuggled|[Tt]ransfer-[Ee]ncoding: chunked\r\nX|X: y/);
      // Behind it the gateway serves as before.
      assert.equal(
        (await sendHead(t, gateway.port, 'GET /after HTTP/1.1\r\nHost: localhost')).body,
        'upstream GET /after',
      );
    });
  }
});

/**
 * Bodies that are not what the head said. The upstream may have seen the head, and as much of the body as was announced: that streams on
 * before the rest arrives. It never sees more.
 */
const brokenBodies: Record<
  string,
  { length: string; frames: readonly (readonly [string, number])[]; seen?: readonly string[] }
> = {
  'a body longer than its length': {
    length: '3',
    frames: [['abcGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n', endStream]],
  },
  'a body shorter than its length': { length: '50', frames: [['GET /smuggled HTTP/1.1\r\n', endStream]] },
  'a body longer than its length, in parts': {
    length: '3',
    frames: [
      ['abc', 0],
      ['GET /smuggled HTTP/1.1\r\n\r\n', endStream],
    ],
    seen: ['abc'],
  },
  'a length that a number cannot count': { length: '9223372036854775807', frames: [['abc', endStream]] },
};

describe('content-length and DATA must agree', () => {
  for (const [name, { length, frames, seen = [] }] of Object.entries(brokenBodies)) {
    test(name, async (t) => {
      const client = await connectHttp2Wire(t, gateway.port);
      client.wire.send(
        writeFrame(frameTypes.headers, endHeaders, 1, writeFields([...post, ['content-length', length]])),
      );
      for (const [data, flags] of frames) client.wire.send(writeFrame(frameTypes.data, flags, 1, Buffer.from(data)));
      await client.waitForStreamEnd(1);
      // Requests on a connection that was used before would show up here.
      assert.equal(
        (await sendHead(t, gateway.port, 'GET /after HTTP/1.1\r\nHost: localhost')).body,
        'upstream GET /after',
      );
      const [last, ...others] = upstream.requests.toReversed();
      assert.equal(last?.url, '/after');
      assert.ok(others.length <= 1);
      for (const { url, body } of others) assert.ok(url === '/front' && seen.includes(body), `${url} ${body}`);
    });
  }
});

describe('an allowed request becomes exactly one request', () => {
  test('trailers of a request do not become header fields or another request', async (t) => {
    const client = await connectHttp2Wire(t, gateway.port);
    client.wire.send(writeFrame(frameTypes.headers, endHeaders, 1, writeFields([...post, ['trailer', 'x-good']])));
    client.wire.send(writeFrame(frameTypes.data, 0, 1, Buffer.from('abc')));
    const trailers = writeFields([
      ['x-good', 'yes'],
      ['authorization', 'Bearer forged'],
      ['x-forwarded-for', '6.6.6.6'],
      ['x_forwarded_for', '6.6.6.6'],
      ['x-forwarded-user', 'root'],
      ['x-real-ip', '6.6.6.6'],
      ['mcp-session-id', 'forged'],
    ]);
    client.wire.send(writeFrame(frameTypes.headers, endHeaders | endStream, 1, trailers));
    await client.waitForStreamEnd(1);
    assert.deepEqual(
      upstream.requests.map((request) => [request.body, request.trailers]),
      [['abc', ['x-good', 'yes']]],
    );
    assert.doesNotMatch(upstream.bytes, /forged|6\.6\.6\.6|root/);
  });

  test('a pseudo-header in the trailers resets the stream', async (t) => {
    const client = await connectHttp2Wire(t, gateway.port);
    client.wire.send(writeFrame(frameTypes.headers, endHeaders, 1, writeFields(post)));
    client.wire.send(writeFrame(frameTypes.data, 0, 1, Buffer.from('abc')));
    client.wire.send(writeFrame(frameTypes.headers, endHeaders | endStream, 1, writeFields([[':path', '/smuggled']])));
    await client.waitForStreamEnd(1);
    assert.equal(client.readData(1), '');
    assert.deepEqual(upstream.requests, []);
  });

  test('a body that looks like requests stays a body', async () => {
    const session = connect(`http://127.0.0.1:${gateway.port}`);
    try {
      const body = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n0\r\n\r\n';
      const request = session.request({ ':method': 'POST', ':path': '/front', ':authority': 'localhost' });
      request.end(body);
      request.resume();
      await once(request, 'end');
      assert.deepEqual(
        upstream.requests.map((each) => [each.url, each.body]),
        [['/front', body]],
      );
    } finally {
      session.destroy();
    }
  });
});

describe('extended CONNECT (RFC 8441)', () => {
  const connectFields = (path: string, protocol: string): [string, string][] => [
    [':method', 'CONNECT'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
    [':protocol', protocol],
  ];

  for (const protocol of ['h2c', 'H2C', 'HTTP/2.0', 'TLS/1.0', 'a b', 'websocket, h2c', '', 'x\ty']) {
    test(`no tunnel by the protocol ${JSON.stringify(protocol)} (h2c smuggling)`, async (t) => {
      const client = await connectHttp2Wire(t, gateway.port);
      client.wire.send(writeFrame(frameTypes.headers, endHeaders, 1, writeFields(connectFields('/front', protocol))));
      await client.waitForStreamEnd(1);
      const answer = client.readData(1);
      if (answer !== '') assert.match(answer, /^\{"error":"bad_request"/);
      assert.equal(upstream.headCount, 0);
    });
  }

  test('a rule for GET protects a websocket over HTTP/2 as it does over HTTP/1', async (t) => {
    const client = await connectHttp2Wire(t, gateway.port);
    client.wire.send(writeFrame(frameTypes.headers, endHeaders, 1, writeFields(connectFields('/socket', 'websocket'))));
    await client.waitForStreamEnd(1);
    assert.match(client.readData(1), /"error":"policy_invalid"/);
    const upgrade = 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==';
    const http1 = await sendHead(
      t,
      gateway.port,
      `GET /socket HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\nConnection: upgrade`,
    );
    assert.equal(http1.error, 'policy_invalid');
    assert.equal(upstream.headCount, 0);
  });
});

test('streams of one connection do not see each other', async () => {
  const session = connect(`http://127.0.0.1:${gateway.port}`);
  try {
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const request = session.request({ ':path': `/stream-${index}`, ':authority': 'localhost' });
        let text = '';
        request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        await once(request, 'end');
        return text;
      }),
    );
    assert.deepEqual(
      answers,
      answers.map((_, index) => `upstream GET /stream-${index}`),
    );
    await waitFor(() => upstream.requests.length === 100);
  } finally {
    session.destroy();
  }
});
