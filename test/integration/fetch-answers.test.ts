// The guarded fetcher against servers that are slow, large, broken, redirecting or untrusted.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readEgressProxy } from '../../src/base/egress-proxy.ts';
import {
  createFetcher,
  fetchJsonObject,
  type FetcherOptions,
  type FetchOutcome,
  type GuardedRequest,
} from '../../src/base/fetch-json.ts';
import { createLookup, serveHttp, serveHttps, serveTcp, testAuthority, type TestServer } from './fetch-fixture.ts';

const ca = testAuthority.cert;

/** No test is about how fast an answer comes, but for those that say so. */
const patience = 60_000;

function urlOf({ port }: TestServer, path = '/'): string {
  return `http://127.0.0.1:${port}${path}`;
}

function fetchOnce(
  url: string,
  request: Partial<GuardedRequest> = {},
  options: FetcherOptions = {},
): Promise<FetchOutcome> {
  return createFetcher(options).fetch({ url, chosenBy: 'operator', timeoutMs: patience, ...request });
}

function expectFailure(outcome: FetchOutcome, code: string, text: RegExp): void {
  assert.ok(!outcome.ok, 'it should have failed');
  assert.equal(outcome.code, code);
  assert.match(outcome.message, text);
}

describe('requests', () => {
  test('method, headers, body and query arrive; names of headers come back in lower case', async (context) => {
    const seen: unknown[] = [];
    const server = await serveHttp(context, (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        seen.push([request.method, request.url, request.headers['x-test'], request.headers['accept-encoding'], body]);
        response.setHeader('X-Answer', ['one', 'two']);
        response.writeHead(201).end('schön');
      });
    });
    const outcome = await fetchOnce(urlOf(server, '/register?a=1'), {
      method: 'POST',
      headers: { 'X-Test': 'yes', 'Accept-Encoding': 'gzip' },
      body: '{"a":"ü"}',
    });
    assert.ok(outcome.ok);
    assert.equal(outcome.status, 201);
    assert.equal(outcome.body, 'schön');
    assert.equal(outcome.headers.get('x-answer'), 'one, two');
    assert.deepEqual(seen, [['POST', '/register?a=1', 'yes', 'identity', '{"a":"ü"}']]);
  });

  test('a header that would end the header is refused', async (context) => {
    const server = await serveHttp(context, (_request, response) => response.end());
    const outcome = await fetchOnce(urlOf(server), { headers: { authorization: 'Bearer x\r\nX-Evil: 1' } });
    expectFailure(outcome, 'broken', /invalid header/);
    assert.ok(!JSON.stringify(outcome).includes('Bearer'));
  });
});

describe('redirects', () => {
  for (const status of [301, 302, 303, 307, 308]) {
    test(`${status} is not followed, and its query is not repeated`, async (context) => {
      const target = await serveHttp(context, (_request, response) => response.end('{}'));
      const server = await serveHttp(context, (_request, response) =>
        response.writeHead(status, { location: urlOf(target, '/login?code=secret') }).end(),
      );
      const outcome = await fetchOnce(urlOf(server));
      expectFailure(
        outcome,
        'redirect',
        new RegExp(`answers ${status}, a redirect to .*/login; redirects are not followed`),
      );
      assert.doesNotMatch(JSON.stringify(outcome), /secret/);
      assert.equal(target.connections(), 0);
    });
  }

  test('to a metadata address, to another scheme, to nowhere', async (context) => {
    for (const location of ['http://169.254.169.254/', 'file:///etc/passwd', 'http://[', undefined]) {
      const server = await serveHttp(context, (_request, response) =>
        response.writeHead(302, location === undefined ? {} : { location }).end(),
      );
      expectFailure(await fetchOnce(urlOf(server)), 'redirect', /redirect/);
    }
  });
});

describe('time', () => {
  const slow: readonly [string, (socket: Socket) => void][] = [
    ['no answer at all', () => {}],
    ['half a head', (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-le')],
    ['a head and no body', (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n')],
    [
      'a body that drips',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
        const timer = setInterval(() => socket.write('1\r\nx\r\n'), 10);
        socket.on('close', () => clearInterval(timer));
      },
    ],
  ];
  for (const [name, behave] of slow) {
    test(`${name} ends with the time-out, and the connection with it`, async (context) => {
      const closed = Promise.withResolvers<void>();
      const server = await serveTcp(context, (socket) => {
        socket.on('close', () => closed.resolve()).resume();
        behave(socket);
      });
      expectFailure(await fetchOnce(urlOf(server), { timeoutMs: 200 }), 'timeout', /did not answer within 0\.2 s/);
      await closed.promise;
    });
  }

  test('a TLS handshake that never comes', async (context) => {
    const server = await serveTcp(context, (socket) => void socket.resume());
    expectFailure(await fetchOnce(`https://127.0.0.1:${server.port}/`, { timeoutMs: 200 }), 'timeout', /did not/);
  });

  test('a resolver that never answers', async () => {
    const lookup = (): Promise<never> => new Promise(() => {});
    expectFailure(await fetchOnce('https://idp.example.com/', { timeoutMs: 200 }, { lookup }), 'timeout', /0\.2 s/);
  });

  test('closing breaks off what is under way, and later calls fail', async (context) => {
    const arrived = Promise.withResolvers<void>();
    const server = await serveHttp(context, () => arrived.resolve());
    const fetcher = createFetcher();
    const pending = fetcher.fetch({ url: urlOf(server), chosenBy: 'operator', timeoutMs: 60_000 });
    await arrived.promise;
    await fetcher.close();
    expectFailure(await pending, 'unreachable', /the call was aborted/);
    expectFailure(await fetcher.fetch({ url: urlOf(server), chosenBy: 'operator' }), 'unreachable', /shutting down/);
  });
});

describe('size', () => {
  test('announced: refused before it is read', async (context) => {
    const server = await serveHttp(context, (_request, response) => {
      response.writeHead(200, { 'content-length': 20_000_000 });
      response.write('x');
    });
    expectFailure(await fetchOnce(urlOf(server)), 'too_large', /more than 1048576 bytes/);
  });

  test('not announced: refused as soon as it is too much, and the sender stopped', async (context) => {
    let sent = 0;
    const closed = Promise.withResolvers<void>();
    const server = await serveHttp(context, (_request, response) => {
      const chunk = Buffer.alloc(65_536, 0x20);
      const send = (): void => {
        while (sent < 200_000_000 && response.write(chunk)) sent += chunk.length;
      };
      response.on('drain', send).on('close', () => closed.resolve());
      send();
    });
    expectFailure(await fetchOnce(urlOf(server), { timeoutMs: 60_000 }), 'too_large', /more than/);
    await closed.promise;
    assert.ok(sent < 100_000_000, `${sent} bytes were sent`);
  });

  test('exactly the limit passes, one more does not', async (context) => {
    const server = await serveHttp(context, (request, response) =>
      response.end('x'.repeat(Number(request.url?.slice(1)))),
    );
    assert.equal((await fetchOnce(urlOf(server, '/100'), { maxBytes: 100 })).ok, true);
    expectFailure(await fetchOnce(urlOf(server, '/101'), { maxBytes: 100 }), 'too_large', /more than 100 bytes/);
  });

  test('unrequested compression is not unpacked', async (context) => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const server = await serveHttp(context, (_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    expectFailure(await fetchOnce(urlOf(server)), 'broken', /compressed/);
  });

  test('headers without end', async (context) => {
    const server = await serveTcp(context, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      for (let index = 0; index < 10_000; index += 1) socket.write(`x-${index}: ${'y'.repeat(100)}\r\n`);
    });
    expectFailure(await fetchOnce(urlOf(server)), 'too_large', /too large headers/);
  });
});

describe('broken answers', () => {
  for (const [name, text] of [
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['nothing', ''],
    ['a head that breaks off', 'HTTP/1.1 200 OK\r\ncontent-type: te'],
    ['a body that breaks off', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"a"'],
    ['chunks that break off', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}x'],
  ] as const) {
    test(name, async (context) => {
      const server = await serveTcp(context, (socket) => {
        socket.once('data', () => socket.end(text));
      });
      const outcome = await fetchOnce(urlOf(server), {
        method: 'POST',
        headers: { authorization: 'Bearer s3cr3t-token' },
        body: 'client_secret=s3cr3t',
      });
      expectFailure(outcome, 'broken', /broke off or does not speak HTTP/);
      assert.doesNotMatch(JSON.stringify(outcome), /s3cr3t/);
    });
  }

  test('nothing listens', async () => {
    expectFailure(await fetchOnce('http://127.0.0.1:1/'), 'unreachable', /the connection was refused/);
  });
});

describe('TLS', () => {
  test('a private CA is trusted when it is named, in the request or for all', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'));
    const url = `https://localhost:${server.port}/`;
    assert.equal((await fetchOnce(url, { ca })).ok, true);
    assert.equal((await fetchOnce(url, {}, { ca })).ok, true);
    expectFailure(await fetchOnce(url), 'unreachable', /certificate is not trusted .*caCertificateRef/);
  });

  test('a CA takes the place of the roots, and does not trust strangers', async (context) => {
    const stranger = await serveHttps(context, (_request, response) => response.end('{}'), { isSelfSigned: true });
    expectFailure(await fetchOnce(`https://localhost:${stranger.port}/`, { ca }), 'unreachable', /not trusted/);
  });

  test('trust of one call is not the trust of the next', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'));
    const fetcher = createFetcher();
    const url = `https://localhost:${server.port}/`;
    assert.equal((await fetcher.fetch({ url, ca, chosenBy: 'operator', timeoutMs: patience })).ok, true);
    assert.equal((await fetcher.fetch({ url, chosenBy: 'operator' })).ok, false);
  });

  test('a certificate for another name', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'), {
      names: ['other.example.com'],
    });
    expectFailure(await fetchOnce(`https://localhost:${server.port}/`, { ca }), 'unreachable', /altnames/);
    const lookup = createLookup(['127.0.0.1']);
    const named = fetchOnce(`https://other.example.com:${server.port}/`, { ca }, { lookup });
    assert.equal((await named).ok, true);
  });

  test('a CA that cannot be read trusts nobody', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'));
    const outcome = await fetchOnce(`https://localhost:${server.port}/`, { ca: 'not PEM' });
    assert.equal(outcome.ok, false);
  });

  test('plain HTTP where TLS is expected', async (context) => {
    const server = await serveHttp(context, (_request, response) => response.end('{}'));
    expectFailure(await fetchOnce(`https://localhost:${server.port}/`), 'unreachable', /TLS handshake failed/);
  });
});

describe('an egress proxy', () => {
  function via(url: string, bypass = '') {
    const reading = readEgressProxy({ HTTPS_PROXY: url, HTTP_PROXY: url, NO_PROXY: bypass });
    assert.ok(reading.ok);
    return reading.proxy;
  }

  async function serveProxy(context: Parameters<typeof serveHttp>[0], upstreamPort: number) {
    const seen: { target: string | undefined; authorization: string | undefined }[] = [];
    const proxy = await serveTcp(context, (socket) => {
      socket.once('data', (head: Buffer) => {
        const text = head.toString('latin1');
        seen.push({
          target: /^CONNECT (\S+) HTTP/.exec(text)?.[1],
          authorization: /proxy-authorization: (.*)\r\n/i.exec(text)?.[1],
        });
        if (text.includes('refused.example.com')) {
          socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
          return;
        }
        const upstream = connect(upstreamPort, '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
          socket.pipe(upstream).pipe(socket);
        });
        upstream.on('error', () => socket.destroy());
        socket.on('close', () => upstream.destroy());
      });
    });
    return { proxy, seen };
  }

  test('calls go through it by name, with TLS end to end, credentials to the proxy only', async (context) => {
    const requests: unknown[] = [];
    const server = await serveHttps(context, (request, response) => {
      requests.push(request.headers['proxy-authorization']);
      response.end('{"a":1}');
    });
    const { proxy, seen } = await serveProxy(context, server.port);
    const options = { proxy: via(`http://user:p%40ss@127.0.0.1:${proxy.port}`) };
    const outcome = await fetchOnce('https://idp.example.com/jwks', { ca }, options);
    assert.equal(outcome.ok && outcome.body, '{"a":1}');
    assert.deepEqual(seen, [
      { target: 'idp.example.com:443', authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}` },
    ]);
    assert.deepEqual(requests, [undefined]);
    expectFailure(await fetchOnce('https://idp.example.com/', {}, options), 'unreachable', /not trusted/);
  });

  test('a name that a client chose is checked here where it resolves, and resolved by the proxy', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'));
    const { proxy, seen } = await serveProxy(context, server.port);
    const unknown = (): Promise<never> => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    const never = (): Promise<never> => new Promise(() => {});
    const url = 'https://idp.example.com/client.json';
    for (const [lookup, expected] of [
      [createLookup(['8.8.8.8']), 'ok'],
      [unknown, 'ok'],
      [never, 'ok'],
      [createLookup(['10.0.0.1']), 'blocked'],
      [createLookup(['169.254.169.254']), 'blocked'],
    ] as const) {
      const options = { proxy: via(`http://127.0.0.1:${proxy.port}`), lookup };
      const outcome = await fetchOnce(url, { ca, chosenBy: 'client' }, options);
      assert.equal(outcome.ok ? 'ok' : outcome.code, expected);
    }
    assert.deepEqual(
      seen.map(({ target }) => target),
      Array(3).fill('idp.example.com:443'),
    );
  });

  test('internal names that a client chose do not go through it', async (context) => {
    const { proxy, seen } = await serveProxy(context, 1);
    const options = { proxy: via(`http://127.0.0.1:${proxy.port}`), lookup: createLookup(['8.8.8.8']) };
    for (const host of ['vault', 'metadata.google.internal', 'printer.local', 'router.home.arpa', 'idp.corp'])
      expectFailure(
        await fetchOnce(`https://${host}/client.json`, { chosenBy: 'client' }, options),
        'blocked',
        /a name of an internal network/,
      );
    for (const host of ['10.0.0.1', '[fd00::1]'])
      expectFailure(
        await fetchOnce(`https://${host}/`, { chosenBy: 'client' }, options),
        'blocked',
        /private|unique local/,
      );
    assert.deepEqual(seen, []);
  });

  test('http goes to it as a request for the whole URL', async (context) => {
    const seen: string[] = [];
    const proxy = await serveHttp(context, (request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.host} ${request.headers['proxy-authorization']}`);
      response.writeHead(request.url?.includes('closed') === true ? 407 : 200).end('{"a":1}');
    });
    const options = { proxy: via(`http://u:p@127.0.0.1:${proxy.port}`) };
    const outcome = await fetchOnce('http://idp.example.com:8080/jwks?a=b', { allowInsecureHttp: true }, options);
    assert.equal(outcome.ok && outcome.body, '{"a":1}');
    assert.deepEqual(seen, ['GET http://idp.example.com:8080/jwks?a=b idp.example.com:8080 Basic dTpw']);
    expectFailure(
      await fetchOnce('http://idp.example.com/closed', { allowInsecureHttp: true }, options),
      'unreachable',
      /egress proxy 127\.0\.0\.1:\d+ answers 407/,
    );
    expectFailure(
      await fetchOnce('http://169.254.169.254/', { allowInsecureHttp: true }, options),
      'blocked',
      /link-local/,
    );
    const gone = { proxy: via('http://127.0.0.1:1') };
    expectFailure(
      await fetchOnce('http://idp.example.com/', { allowInsecureHttp: true }, gone),
      'unreachable',
      /egress proxy 127\.0\.0\.1:1 cannot be reached/,
    );
    assert.equal(seen.length, 2);
  });

  test('forbidden addresses do not go through it either', async (context) => {
    const { proxy, seen } = await serveProxy(context, 1);
    const options = { proxy: via(`http://127.0.0.1:${proxy.port}`) };
    expectFailure(await fetchOnce('https://169.254.169.254/', {}, options), 'blocked', /link-local/);
    assert.deepEqual(seen, []);
  });

  test('loopback, cluster and listed hosts are called directly', async (context) => {
    const server = await serveHttp(context, (_request, response) => response.end('{}'));
    const { proxy, seen } = await serveProxy(context, 1);
    const options = {
      proxy: via(`http://127.0.0.1:${proxy.port}`, '.internal.example.com,direct.example.com'),
      lookup: createLookup(['127.0.0.1']),
    };
    for (const host of ['127.0.0.1', 'localhost', 'dex.auth.svc', 'direct.example.com', 'idp.internal.example.com']) {
      const outcome = await fetchOnce(`http://${host}:${server.port}/`, { allowInsecureHttp: true }, options);
      assert.equal(outcome.ok, true, host);
    }
    assert.deepEqual(seen, []);
  });

  test('a proxy that refuses or is not there', async (context) => {
    const { proxy } = await serveProxy(context, 1);
    const refusing = { proxy: via(`http://user:secret@127.0.0.1:${proxy.port}`) };
    const refused = await fetchOnce('https://refused.example.com/', {}, refusing);
    expectFailure(refused, 'unreachable', /egress proxy 127\.0\.0\.1:\d+ answers 403/);
    assert.doesNotMatch(JSON.stringify(refused), /secret/);
    const gone = await fetchOnce('https://idp.example.com/', {}, { proxy: via('http://127.0.0.1:1') });
    expectFailure(gone, 'unreachable', /egress proxy 127\.0\.0\.1:1 cannot be reached/);
  });
});

describe('JSON objects', () => {
  test('whatever the status', async (context) => {
    const server = await serveHttp(context, (request, response) => {
      assert.equal(request.headers.accept, 'application/json');
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_scope"}');
    });
    const outcome = await fetchJsonObject(createFetcher(), { url: urlOf(server), chosenBy: 'operator' });
    assert.ok(outcome.ok);
    assert.equal(outcome.status, 400);
    assert.deepEqual(outcome.value, { error: 'invalid_scope' });
  });

  for (const [body, problem] of [
    ['<html>login</html>', /answers 200 with text\/html that is not JSON$/],
    ['', /that is not JSON$/],
    ['[]', /that is not a JSON object$/],
    ['{"__proto__":{"a":1}}', /that has a key that is not allowed$/],
    [`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, /that is nested too deeply$/],
  ] as const) {
    test(`not one: ${body.slice(0, 30)}`, async (context) => {
      const server = await serveHttp(context, (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(body),
      );
      const outcome = await fetchJsonObject(createFetcher(), { url: urlOf(server), chosenBy: 'operator' });
      assert.ok(!outcome.ok);
      assert.equal(outcome.code, 'not_json');
      assert.equal(outcome.status, 200);
      assert.match(outcome.message, problem);
    });
  }

  test('a fetch that fails says how', async () => {
    const outcome = await fetchJsonObject(createFetcher(), { url: 'ftp://x', chosenBy: 'operator' });
    assert.equal(outcome.ok ? 'ok' : outcome.code, 'blocked');
  });
});
