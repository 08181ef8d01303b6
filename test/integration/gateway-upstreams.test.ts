// Upstreams in trouble, and streams between the two sides, through a real gateway process: what the client sees, and what the upstream does.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { after, before, describe, test, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { findFreePorts } from '../kit/free-ports.ts';
import { pump } from './backpressure.ts';
import {
  type AccessLine,
  type Answer,
  ask,
  type AskOptions,
  askHttp2,
  type Closable,
  gatewayOf,
  mcpServiceOf,
  openRequest,
  openSession,
  readAccessLog,
  readEcho,
  readError,
  readText,
  receiveHead,
  receiveResponse,
  rule,
  serviceOf,
  serviceRef,
  startRawUpstream,
  startUpstream,
  type Upstream,
  valuesOf,
} from './gateway-fixture.ts';
import { backendResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor, waitForStandstill } from '../kit/wait-for.ts';

const limits = { timeout: 180_000 };
const closables: Closable[] = [];
let gateway: GatewayRun;
let main: Upstream;
let second: Upstream;
let deadPort = 0;
let revivedPort = 0;
let hangingUp: { readonly ports: number[]; hits: number };
let blackhole: { readonly port: number };

/** Takes connections until its queue is full and never accepts one: its thread sleeps. */
async function startBlackhole(): Promise<Closable & { readonly port: number }> {
  const flag = new SharedArrayBuffer(4);
  const worker = new Worker(
    `const { createServer } = require('node:net');
     const { parentPort, workerData } = require('node:worker_threads');
     const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       setImmediate(() => Atomics.wait(new Int32Array(workerData), 0, 0));
     });`,
    { eval: true, workerData: flag },
  );
  const [port] = (await once(worker, 'message')) as [number];
  const fillers = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await once(fillers[0]!, 'connect');
  return {
    port,
    async close() {
      for (const filler of fillers) filler.destroy();
      Atomics.store(new Int32Array(flag), 0, 1);
      Atomics.notify(new Int32Array(flag), 0);
      await worker.terminate();
    },
  };
}

function describeResources(port: number, sessionPorts: readonly number[]): object[] {
  return [
    gatewayOf('test', [{ name: 'http', port, protocol: 'HTTP' }]),
    routeResource('main', [
      rule('/', [serviceRef('main')]),
      rule('/dead', [serviceRef('dead')]),
      rule('/empty', [serviceRef('empty')]),
      rule('/balanced', [serviceRef('balanced')]),
      rule('/half-dead', [serviceRef('half-dead')]),
      rule('/revived', [serviceRef('revived')]),
      rule('/hang-up', [serviceRef('hang-up')]),
    ]),
    routeResource('mcp', [
      ruleTo('/dead-mcp', 'dead-mcp'),
      ruleTo('/blackhole', 'blackhole'),
      ruleTo('/impatient', 'impatient'),
      ruleTo('/limited', 'limited'),
      ruleTo('/sessions', 'sessions'),
      ruleTo('/stateless', 'stateless'),
      ruleTo('/legacy', 'legacy'),
    ]),
    ...serviceOf('main', [main.port]),
    ...serviceOf('dead', [deadPort]),
    ...serviceOf('empty', []),
    ...serviceOf('balanced', [main.port, second.port]),
    ...serviceOf('half-dead', [deadPort, main.port]),
    ...serviceOf('revived', [revivedPort, second.port]),
    ...serviceOf('hang-up', hangingUp.ports),
    ...serviceOf('sessions', sessionPorts),
    backendResource('dead-mcp', deadPort),
    backendResource('blackhole', blackhole.port, '/mcp', { timeouts: { connect: '400ms' } }),
    backendResource('impatient', main.port, '/impatient', { timeouts: { idle: '1s' } }),
    backendResource('limited', main.port, '/limited', { timeouts: { request: '500ms' } }),
    mcpServiceOf('sessions', 'sessions', { path: '/sessions' }),
    mcpServiceOf('stateless', 'sessions', { path: '/sessions' }, { sessionRouting: 'Stateless' }),
    mcpServiceOf('legacy', 'sessions', { path: '/sse', protocol: 'SSE' }),
  ];
}

before(async () => {
  [main, second] = await Promise.all([startUpstream('main'), startUpstream('second')]);
  [deadPort, revivedPort] = (await findFreePorts(2)) as [number, number];
  hangingUp = { ports: [], hits: 0 };
  for (let index = 0; index < 2; index += 1) {
    const raw = await startRawUpstream((socket) =>
      socket.once('data', () => {
        hangingUp.hits += 1;
        socket.destroy();
      }),
    );
    hangingUp.ports.push(raw.port);
    closables.push(raw);
  }
  const hole = await startBlackhole();
  blackhole = hole;
  closables.push(main, second, hole);
  gateway = await runGateway({
    resources: (port) => describeResources(port, [main.port, second.port]),
    flags: ['--eject-after-failures', '2', '--ejection-time', '200ms', '--ejection-time-max', '200ms'],
  });
}, limits);

after(async () => {
  await gateway?.stop();
  await Promise.all(closables.map((each) => each.close()));
});

function get(path: string, options: AskOptions = {}): Promise<Answer> {
  return ask(gateway.port, { path, ...options });
}

/** The access line of the one request to this path, once it has ended. */
async function findLine(path: string): Promise<AccessLine> {
  await waitFor(() => readAccessLog(gateway).some((line) => line['path'] === path));
  return readAccessLog(gateway).find((line) => line['path'] === path)!;
}

interface StreamingClient {
  readonly version: string;
  /** Opens a GET and resolves with the answer's body once the head is there. */
  open(t: TestContext, path: string): Promise<IncomingMessage | ClientHttp2Stream>;
}

const clients: readonly StreamingClient[] = [
  {
    version: 'HTTP/1.1',
    async open(t, path) {
      const message = openRequest(gateway.port, { path });
      t.after(() => message.destroy());
      message.end();
      return receiveResponse(message);
    },
  },
  {
    version: 'HTTP/2',
    async open(t, path) {
      const session = await openSession(gateway.port);
      t.after(() => session.destroy());
      const stream = session.request({ ':path': path });
      await receiveHead(stream);
      return stream;
    },
  },
];

describe('before the answer', limits, () => {
  test('no server listens: 502 upstream_unreachable', async () => {
    assert.equal(readError(await get('/dead')), '502 upstream_unreachable');
    assert.equal(readError(await get('/dead-mcp', { method: 'POST' })), '502 upstream_unreachable');
    assert.match(String((await findLine('/dead'))['detail']), /ECONNREFUSED/);
  });

  test('no endpoints: 503 no_endpoints', async () => {
    assert.equal(readError(await get('/empty')), '503 no_endpoints');
  });

  test('no connection in time: 504 upstream_connect_timeout', async () => {
    assert.equal(readError(await get('/blackhole', { method: 'POST' })), '504 upstream_connect_timeout');
    const { duration_ms: duration } = await findLine('/blackhole');
    assert.ok(Number(duration) >= 390, String(duration));
  });

  test('a connection that closes in place of an answer: 502 upstream_reset, and the request was sent once', async () => {
    for (const method of ['GET', 'POST']) {
      const { hits } = hangingUp;
      assert.equal(readError(await ask(gateway.port, { path: '/hang-up', method }, 'x')), '502 upstream_reset');
      assert.equal(hangingUp.hits, hits + 1, method);
    }
  });

  test('silence for longer than the idle time: 504 upstream_idle_timeout, and the upstream is let go', async () => {
    let left = false;
    main.handle('/impatient', (request, response) => {
      request.resume();
      response.on('close', () => (left = true));
    });
    assert.equal(readError(await get('/impatient', { method: 'POST' })), '504 upstream_idle_timeout');
    await waitFor(() => left);
  });

  test('an answer that is not HTTP: 502 upstream_protocol_error', async () => {
    main.handle('/not-http', (request) => request.socket.end('hello\r\n\r\n'));
    assert.equal(readError(await get('/not-http')), '502 upstream_protocol_error');
  });
});

describe('several endpoints', limits, () => {
  test('are balanced: two open streams are on two endpoints, and requests reach both', async (t) => {
    const open = new Map<string, ServerResponse>();
    for (const [name, upstream] of [
      ['main', main],
      ['second', second],
    ] as const) {
      upstream.handle('/balanced/stream', (_request, response) => {
        open.set(name, response);
        response.writeHead(200).write(name);
      });
    }
    await clients[0]!.open(t, '/balanced/stream');
    // Least outstanding of two: the other one is idle.
    await clients[0]!.open(t, '/balanced/stream');
    assert.deepEqual([...open.keys()].toSorted(), ['main', 'second']);
    const names = new Set<string>();
    for (let index = 0; index < 60; index += 1) names.add(readEcho(await get('/balanced')).upstream);
    assert.equal(names.size, 2);
  });

  test('a request that reached nobody goes to another one, with its body', async () => {
    for (let index = 0; index < 20; index += 1) {
      const answer = await ask(gateway.port, { path: '/half-dead', method: 'POST' }, `body ${index}`);
      assert.deepEqual([readEcho(answer).upstream, readEcho(answer).body], ['main', `body ${index}`]);
    }
    await waitFor(() => readAccessLog(gateway).filter((line) => line['path'] === '/half-dead').length === 20);
    const retried = readAccessLog(gateway).filter((line) => line['path'] === '/half-dead' && line['retries'] === 1);
    assert.ok(retried.length > 0);
  });

  test('one that failed is ejected, and back when it works again', async (t) => {
    for (let index = 0; index < 10; index += 1) assert.equal(readEcho(await get('/revived')).upstream, 'second');
    const revived = await startUpstream('revived', revivedPort);
    t.after(() => revived.close());
    await waitFor(async () => readEcho(await get('/revived')).upstream === 'revived');
    const names = new Set<string>();
    for (let index = 0; index < 60; index += 1) names.add(readEcho(await get('/revived')).upstream);
    assert.equal(names.size, 2);
  });
});

describe('in the middle of the answer', limits, () => {
  const framings: readonly (readonly [string, Record<string, string>])[] = [
    ['SSE', { 'content-type': 'text/event-stream' }],
    ['chunked', { 'transfer-encoding': 'chunked' }],
    ['content-length', { 'content-length': '1000' }],
  ];
  for (const client of clients) {
    for (const [framing, headers] of framings) {
      test(`an upstream that dies is an error at an ${client.version} client (${framing})`, async (t) => {
        let peer: ServerResponse | undefined;
        const path = `/dies/${framing}/${client.version.at(-1)}`;
        main.handle(path, (_request, response) => {
          peer = response;
          response.writeHead(200, headers).write('data: 1\n\n');
        });
        const body = await client.open(t, path);
        const text = readText(body);
        await waitFor(() => peer !== undefined);
        peer!.socket!.destroy();
        await assert.rejects(text);
        const line = await findLine(path);
        assert.deepEqual([line['status'], line['reason'], line['complete']], [200, 'upstream_aborted', false]);
      });
    }

    test(`silence for longer than the idle time is an error at an ${client.version} client`, async (t) => {
      const path = `/impatient/${client.version.at(-1)}`;
      let ticks = 0;
      main.handle(path, (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        // Talks for longer than the limit, then is silent.
        const timer = setInterval(() => {
          response.write(`data: ${ticks}\n\n`);
          ticks += 1;
          if (ticks === 15) clearInterval(timer);
        }, 100);
        response.on('close', () => clearInterval(timer));
      });
      await assert.rejects(readText(await client.open(t, path)));
      assert.equal(ticks, 15, 'a stream that talks is not silent');
      assert.equal((await findLine(path))['reason'], 'upstream_idle_timeout');
    });

    test(`the time of the backend for the whole answer is over: an error at an ${client.version} client`, async (t) => {
      const path = `/limited/${client.version.at(-1)}`;
      main.handle(path, (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const timer = setInterval(() => response.write('data: x\n\n'), 50);
        response.on('close', () => clearInterval(timer));
      });
      await assert.rejects(readText(await client.open(t, path)));
      assert.equal((await findLine(path))['reason'], 'upstream_timeout');
    });
  }
});

describe('the client leaves', limits, () => {
  for (const client of clients) {
    test(`in the middle of a stream: the upstream call ends at once (${client.version})`, async (t) => {
      let closed = false;
      const path = `/leaves/${client.version.at(-1)}`;
      main.handle(path, (_request, response) => {
        response.on('close', () => (closed = true));
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      });
      const body = await client.open(t, path);
      body.on('error', () => {});
      body.destroy();
      await waitFor(() => closed);
      const line = await findLine(path);
      assert.deepEqual([line['reason'], line['complete']], ['client_disconnected', false]);
    });

    test(`before the head: the same (${client.version})`, async (t) => {
      let arrived = false;
      let closed = false;
      const path = `/leaves-early/${client.version.at(-1)}`;
      main.handle(path, (_request, response) => {
        arrived = true;
        response.on('close', () => (closed = true));
      });
      if (client.version === 'HTTP/2') {
        const session = await openSession(gateway.port);
        t.after(() => session.destroy());
        const stream = session.request({ ':path': path });
        stream.on('error', () => {});
        await waitFor(() => arrived);
        stream.close(8);
      } else {
        const message = openRequest(gateway.port, { path });
        message.end();
        await waitFor(() => arrived);
        message.destroy();
      }
      await waitFor(() => closed);
      assert.equal((await findLine(path))['reason'], 'client_disconnected');
    });
  }

  test('in the middle of its body: the upstream does not take it for complete', async () => {
    let outcome: string | undefined;
    let arrived = false;
    main.handle('/leaves-body', (request) => {
      arrived = true;
      readText(request).then(
        () => (outcome = 'complete'),
        () => (outcome = 'broken'),
      );
    });
    const message = openRequest(gateway.port, { path: '/leaves-body', method: 'POST' });
    message.write('half');
    await waitFor(() => arrived);
    message.destroy();
    await waitFor(() => outcome !== undefined);
    assert.equal(outcome, 'broken');
  });
});

describe('backpressure', limits, () => {
  const total = 96 * 1024 * 1024;

  for (const client of clients) {
    test(`an ${client.version} client that does not read stops the upstream`, async (t) => {
      const path = `/big/${client.version.at(-1)}`;
      let state: { readonly written: number } | undefined;
      main.handle(path, (_request, response) => {
        response.writeHead(200, { 'content-length': String(total) });
        state = pump(response, total);
      });
      const body = await client.open(t, path);
      body.pause();
      await waitForStandstill(() => state?.written ?? 0);
      assert.ok(state!.written < total / 2, `${state!.written} bytes in flight for a client that reads none`);
      let received = 0;
      for await (const part of body as AsyncIterable<Buffer>) received += part.length;
      assert.equal(received, total);
    });

    test(`an upstream that does not read stops the ${client.version} client`, async (t) => {
      const path = `/upload/${client.version.at(-1)}`;
      let release: (() => void) | undefined;
      main.handle(path, (request, response) => {
        request.pause();
        release = () => {
          let received = 0;
          request.on('data', (part: Buffer) => (received += part.length));
          request.on('end', () => response.end(String(received)));
          request.resume();
        };
      });
      let body: Promise<string>;
      let state: { readonly written: number };
      if (client.version === 'HTTP/2') {
        const session = await openSession(gateway.port);
        t.after(() => session.destroy());
        const stream = session.request({ ':path': path, ':method': 'POST' });
        state = pump(stream, total);
        body = readText(stream);
      } else {
        const message = openRequest(gateway.port, { path, method: 'POST' });
        state = pump(message, total);
        body = receiveResponse(message).then(readText);
      }
      await waitFor(() => release !== undefined);
      await waitForStandstill(() => state.written);
      assert.ok(state.written < total / 2, `${state.written} bytes in flight for an upstream that reads none`);
      release!();
      assert.equal(await body, String(total));
    });
  }
});

describe('MCP', limits, () => {
  const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize"}';
  const post = (path: string, session?: string): Promise<Answer> =>
    ask(
      gateway.port,
      { path, method: 'POST', headers: session === undefined ? {} : { 'mcp-session-id': session } },
      initialize,
    );

  before(() => {
    for (const [name, upstream] of [
      ['main', main],
      ['second', second],
    ] as const) {
      let sessions = 0;
      upstream.handle('/sessions', (request, response) => {
        const session = request.headers['mcp-session-id'];
        if (session === undefined) sessions += 1;
        response.writeHead(200, session === undefined ? { 'mcp-session-id': `${name}-${sessions}` } : {});
        response.end(JSON.stringify({ upstream: name, session, url: request.url }));
      });
    }
  });

  test('a session stays on its endpoint, and is gone (404) with it', async () => {
    const opened = new Map<string, string>();
    for (let index = 0; index < 60 && opened.size < 2; index += 1) {
      const answer = await post('/sessions');
      const { upstream } = JSON.parse(answer.body) as { upstream: string };
      opened.set(upstream, String(answer.headers['mcp-session-id']));
    }
    assert.equal(opened.size, 2);
    for (const [name, session] of opened) {
      assert.ok(session.startsWith(`${name}-`), session);
      for (let index = 0; index < 15; index += 1) {
        const seen = JSON.parse((await post('/sessions', session)).body) as { upstream: string; session: string };
        assert.equal(seen.upstream, name);
        // The upstream sees its own id.
        assert.match(seen.session, new RegExp(`^${name}-\\d+$`));
      }
    }
    gateway.write(describeResources(gateway.port, [second.port]));
    await waitFor(async () => (await post('/sessions', opened.get('main'))).status === 404);
    assert.equal(readError(await post('/sessions', opened.get('main'))), '404 session_gone');
    assert.equal((await post('/sessions', opened.get('second'))).status, 200, 'the other session goes on');
    gateway.write(describeResources(gateway.port, [main.port, second.port]));
    await waitFor(async () => (await post('/sessions', opened.get('main'))).status === 200);
  });

  test('Stateless: the id is left alone and every request is balanced', async () => {
    const names = new Set<string>();
    for (let index = 0; index < 60; index += 1) {
      const seen = JSON.parse((await post('/stateless', 'own-id')).body) as { upstream: string; session: string };
      assert.equal(seen.session, 'own-id');
      names.add(seen.upstream);
    }
    assert.equal(names.size, 2);
  });

  test('a legacy SSE server: the client posts through the gateway, to the process that has its stream', async (t) => {
    for (const [name, upstream] of [
      ['main', main],
      ['second', second],
    ] as const) {
      let stream: ServerResponse | undefined;
      upstream.handle('/sse', (_request, response) => {
        stream = response;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`event: endpoint\ndata: /messages?sessionId=${name}\n\n`);
      });
      upstream.handle('/messages', (request, response) => {
        void readText(request).then((body) => {
          response.writeHead(202).end();
          stream!.write(`event: message\ndata: ${name} ${request.url} ${body}\n\n`);
        });
      });
    }
    for (const client of clients) {
      const body = await client.open(t, '/legacy');
      let received = '';
      body.setEncoding('utf8').on('data', (text: string) => (received += text));
      body.on('error', () => {});
      await waitFor(() => received.includes('\n\n'));
      const endpoint = /^event: endpoint\ndata: (\S+)\n\n$/.exec(received)?.[1];
      assert.ok(endpoint?.startsWith('/legacy?'), received);
      for (let index = 0; index < 5; index += 1) {
        const posted = await ask(gateway.port, { path: endpoint, method: 'POST' }, `m${index}`);
        assert.deepEqual([posted.status, posted.body], [202, '']);
        await waitFor(() => received.includes(` m${index}\n\n`));
      }
      const names = [...received.matchAll(/^data: (\w+) (\S+) m\d$/gm)].map(([, name, url]) => `${name} ${url}`);
      assert.equal(new Set(names).size, 1, received);
      assert.match(names[0]!, /^(\w+) \/messages\?sessionId=\1$/);
    }
    const forged = await ask(gateway.port, { path: '/legacy?mcp-endpoint=a.b.c', method: 'POST' }, 'x');
    assert.equal(readError(forged), '404 session_gone');
  });

  test('what MCP clients send arrives: versions, methods, event ids; DELETE and 405 pass', async (t) => {
    main.handle('/mcp-headers', (request, response) => {
      if (request.method === 'DELETE') response.writeHead(405, { allow: 'GET, POST' }).end();
      else response.end(JSON.stringify(request.rawHeaders));
    });
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'add',
      'mcp-param-a': '1',
      'last-event-id': '7',
    };
    const seen = JSON.parse((await get('/mcp-headers', { headers })).body) as string[];
    for (const [name, value] of Object.entries(headers)) assert.deepEqual(valuesOf(seen, name), [value]);
    const session = await openSession(gateway.port);
    t.after(() => session.destroy());
    const refused = await askHttp2(session, { ':path': '/mcp-headers', ':method': 'DELETE' });
    assert.deepEqual([refused.status, refused.headers.allow], [405, 'GET, POST']);
  });
});
