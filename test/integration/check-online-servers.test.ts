// `mcp-gatehouse check --online` and the MCP servers: real ones of both transports, and everything that can be wrong with the others.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { checkServers } from '../../src/cmd/online/check-server.ts';
import type { ServerReport } from '../../src/cmd/online/online-report.ts';
import { checkCommand } from '../../src/cmd/check.ts';
import type { CheckReport } from '../../src/cmd/check-report.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { buildShortForm, printResources } from '../../src/cmd/short-form.ts';
import type { BackendConfig } from '../../src/gateway/config/runtime-config.ts';
import { startSampleServer } from '../../src/demo/sample-mcp-server.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { startEverythingServer } from '../mcp/everything-server.ts';
import { createCertificate } from '../self-signed-certificate.ts';
import { listenOnLoopback } from './gateway-fixture.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function runCheck(t: TestContext, target: string, flags: readonly string[] = [], sse = false): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'check-servers-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const short = buildShortForm({ targets: [target], transport: sse ? 'sse' : 'streamable-http' });
  assert.ok(short.ok);
  await writeFile(join(folder, 'gateway.yaml'), printResources(short.resources));
  let out = '';
  let err = '';
  const code = await executeCommand(checkCommand, ['-f', folder, '--online', ...flags], {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color: false,
    env: {},
  });
  return { code, out, err };
}

/** The report on one server, as data. */
async function ask(
  port: number,
  changes: Partial<BackendConfig> & { path?: string; sse?: boolean } = {},
  options = {},
): Promise<ServerReport> {
  const { path = '/mcp', sse = false, ...rest } = changes;
  const [report] = await checkServers(
    {
      key: 'ProxyBackend/default/mcp',
      fingerprint: '',
      endpoints: [{ host: '127.0.0.1', port }],
      tls: undefined,
      protocol: 'http1',
      connectTimeoutMs: 5_000,
      requestTimeoutMs: 0,
      idleTimeoutMs: 0,
      hostHeader: '',
      mcp: { target: 'mcp', path, transport: sse ? 'sse' : 'streamable-http', sessionRouting: 'stateful' },
      picker: undefined,
      ...rest,
    },
    { forwardsTokens: false, ...options },
  );
  return report!;
}

/** "mark check: text → advice", one per finding. */
const linesOf = ({ findings }: ServerReport): string[] =>
  findings.map(({ mark, check, text, advice }) => `${mark} ${check}: ${text}${advice === null ? '' : ` → ${advice}`}`);

async function serve(t: TestContext, listener: RequestListener): Promise<number> {
  const server = await listenOnLoopback(createServer(listener));
  t.after(() => server.close());
  return server.port;
}

interface Rpc {
  readonly id?: number;
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** Answers JSON-RPC at a path, and 404 elsewhere. */
function serveRpc(
  path: string,
  answer: (message: Rpc, request: IncomingMessage, response: ServerResponse) => object | undefined,
): RequestListener {
  return (request, response) => {
    let body = '';
    request.on('data', (chunk) => void (body += String(chunk)));
    request.on('end', () => {
      if (request.url !== path || request.method !== 'POST') return void response.writeHead(404).end();
      const message = JSON.parse(body) as Rpc;
      const answered = answer(message, request, response);
      if (answered === undefined) return void response.writeHead(202).end();
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answered }));
    });
  };
}

const hello = {
  serverInfo: { name: 'quirky', version: '7' },
  capabilities: { tools: {} },
  protocolVersion: '2025-06-18',
};

describe('real servers', () => {
  test('Streamable HTTP: name, versions and tools', async (t) => {
    const server = await startSampleServer({ host: '127.0.0.1', port: 0 });
    t.after(() => server.close());
    const { code, out, err } = await runCheck(t, server.url);
    assert.deepEqual([code, err], [0, '']);
    assert.ok(out.includes(`MCP server of ProxyBackend default/mcp  ${server.url}\n`), out);
    assert.match(out, /^ {2}✓ server {2}sample 1\.0\.0, MCP 2025-11-25\n {2}✓ tools {3}\d+ tools$/m);
    const { servers } = JSON.parse((await runCheck(t, server.url, ['--json'])).out) as CheckReport;
    const { findings, tools, ...rest } = servers![0]!;
    assert.deepEqual(rest, {
      backend: 'ProxyBackend default/mcp',
      target: null,
      url: server.url,
      ok: true,
      server: { name: 'sample', version: '1.0.0' },
      protocolVersion: '2025-11-25',
    });
    assert.ok(tools! > 3 && findings.length === 2);
  });

  test('the older HTTP+SSE, and what is said about one that is configured as the other', async (t) => {
    const server = await startEverythingServer('sse');
    t.after(() => server.stop());
    const port = Number(new URL(server.url).port);
    const right = await ask(port, { path: '/sse', sse: true });
    assert.ok(right.ok && right.tools! > 3, linesOf(right).join('\n'));
    const wrong = await ask(port, { path: '/mcp' });
    assert.match(
      linesOf(wrong)[0]!,
      /^bad path: \/mcp answers 404.* → An MCP server answers at \/sse: set path: \/sse, protocol: SSE of the target\.$/,
    );
  });
});

test('it ends the session that it made, and calls no tool', async (t) => {
  const upstream = await startMcpUpstream();
  t.after(() => upstream.close());
  await ask(upstream.port);
  const seen = upstream.requests.map((request) => [
    request.method,
    request.all('mcp-session-id')[0],
    request.body === '' ? '' : (JSON.parse(request.body) as Rpc).method,
  ]);
  assert.deepEqual(seen, [
    ['POST', undefined, 'initialize'],
    ['POST', 'session-1', 'notifications/initialized'],
    ['DELETE', 'session-1', ''],
  ]);
});

describe('servers of other versions', () => {
  test('an older one that refuses the newest version is asked again', async (t) => {
    const asked: unknown[] = [];
    const port = await serve(
      t,
      serveRpc('/mcp', ({ method, params }) => {
        if (method === 'notifications/initialized') return undefined;
        if (method === 'tools/list')
          return { result: params['cursor'] === undefined ? { tools: [{}, {}], nextCursor: 'b' } : { tools: [{}] } };
        asked.push(params['protocolVersion']);
        return params['protocolVersion'] === '2025-06-18'
          ? { result: hello }
          : { error: { code: -32602, message: 'Unsupported protocol version' } };
      }),
    );
    const report = await ask(port);
    assert.deepEqual(linesOf(report), ['good server: quirky 7, MCP 2025-06-18', 'good tools: 3 tools']);
    assert.deepEqual(asked, ['2025-11-25', '2025-06-18']);
  });

  test('one without initialize is asked as 2026-07-28 has it', async (t) => {
    const port = await serve(
      t,
      serveRpc('/mcp', ({ method }, { headers }) => {
        if (method === 'initialize') return { error: { code: -32601, message: 'Method not found' } };
        assert.deepEqual([headers['mcp-protocol-version'], headers['mcp-method']], ['2026-07-28', method]);
        return { result: method === 'server/discover' ? hello : { tools: [{}] } };
      }),
    );
    assert.deepEqual(linesOf(await ask(port)), ['good server: quirky 7, MCP 2026-07-28', 'good tools: 1 tool']);
  });
});

describe('what is wrong', () => {
  test('nobody is there', async (t) => {
    const [port] = await findFreePorts(1);
    const run = await runCheck(t, `http://127.0.0.1:${port}/mcp`);
    assert.equal(run.code, 1);
    assert.match(
      run.out,
      /✗ connection {2}.*ECONNREFUSED.*\n.*→ Nothing listens at 127\.0\.0\.1:\d+\. Is the server started, and the port right\?/,
    );
    assert.equal(run.err, '1 problem\n');
    const { problems } = JSON.parse((await runCheck(t, `http://127.0.0.1:${port}/mcp`, ['--json'])).out) as CheckReport;
    assert.deepEqual(
      problems.map(({ code, kind, name }) => [code, kind, name]),
      [['mcp_server', 'ProxyBackend', 'mcp']],
    );
    const unknown = await ask(80, { endpoints: [{ host: 'nowhere.invalid', port: 80 }] });
    assert.match(linesOf(unknown)[0]!, /^bad connection: .* → Is the name nowhere\.invalid right/);
  });

  test("the gateway's own ports are not connected to", async () => {
    assert.match(
      linesOf(await ask(15000))[0]!,
      /^bad connection: .*the gateway's own port 15000; no connection is made/,
    );
  });

  test('TLS that is not trusted, TLS where there is none, and none where there is', async (t) => {
    const { cert, key } = createCertificate({ names: ['localhost'] });
    const secure = await listenOnLoopback(createTlsServer({ cert, key }, (_request, response) => response.end()));
    t.after(() => secure.close());
    const tls = { serverName: 'localhost', ca: undefined, insecureSkipVerify: false };
    assert.match(linesOf(await ask(secure.port, { tls }))[0]!, /^bad connection: .* → For a private authority/);
    assert.match(
      linesOf(await ask(secure.port))[0]!,
      /^bad connection: .* → Does 127\.0\.0\.1:\d+ speak HTTP\? A server with TLS needs tls in the target\.$/,
    );
    const plain = await serve(t, (_request, response) => response.end());
    assert.match(linesOf(await ask(plain, { tls }))[0]!, /^bad connection: .* → The server speaks no TLS there/);
  });

  test('no answer', async (t) => {
    const silent = createTcpServer();
    const listening = await listenOnLoopback(silent);
    t.after(() => listening.close());
    const report = await ask(listening.port, {}, { timeoutMs: 50 });
    // The same time for the connection and for the answer, each: on a busy machine the connection takes all of it.
    assert.match(
      linesOf(report)[0]!,
      /^bad connection: (?:no answer within 0\.05 s|UPSTREAM_CONNECT_TIMEOUT: no connection to \S+ within 50 ms) → Is 127\.0\.0\.1:\d+ overloaded, or behind a firewall\?$/,
    );
  });

  const answers: readonly (readonly [what: string, listener: RequestListener, line: RegExp])[] = [
    [
      'a wrong path, and the right one is found',
      serveRpc('/', ({ method }) => ({ result: method === 'initialize' ? hello : { tools: [] } })),
      /^bad path: \/mcp answers 404 → An MCP server answers at \/: set path: \/ of the target\.$/,
    ],
    [
      'a web site',
      (_request, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end('<!doctype html>'),
      /^bad path: \/mcp answers 200 with a web page \(HTML\), not with MCP → Is this an MCP server, and the path right\?/,
    ],
    [
      'another protocol',
      (_request, response) => response.setHeader('content-type', 'application/json').end('{"hello": "world"}'),
      /^bad path: \/mcp answers 200, but this is not MCP: the answer has neither a result nor an error → Is this/,
    ],
    [
      'credentials of its own',
      (_request, response) => response.writeHead(401, { 'www-authenticate': 'Bearer realm="x"' }).end(),
      /^bad credentials: the server asks for credentials itself: it answers 401 \(Bearer\) → The gateway has none for it/,
    ],
    [
      'a redirect',
      (_request, response) => response.writeHead(307, { location: '/mcp/' }).end(),
      /^bad path: \/mcp answers 307 → It redirects to \/mcp\/: set the path/,
    ],
    [
      'trouble',
      (_request, response) => response.writeHead(503).end(),
      /^bad path: \/mcp answers 503 → The server is in trouble/,
    ],
    [
      'tools that cannot be listed',
      serveRpc('/mcp', ({ method }) =>
        method === 'initialize' ? { result: hello } : { error: { code: -32603, message: 'oops' } },
      ),
      /^good server: quirky 7, MCP 2025-06-18\nbad tools: tools\/list failed: JSON-RPC error -32603: oops → The log/,
    ],
  ];
  for (const [what, listener, line] of answers) {
    test(what, async (t) => {
      assert.match(linesOf(await ask(await serve(t, listener))).join('\n'), line);
    });
  }

  test('credentials are no fault where clients bring theirs', async (t) => {
    const port = await serve(t, (_request, response) => response.writeHead(401).end());
    const report = await ask(port, {}, { forwardsTokens: true });
    assert.ok(report.ok);
    assert.match(linesOf(report)[0]!, /^remark credentials: .*; clients bring theirs, with forwardToken$/);
  });

  test('HTTP/2 without TLS, where the Service says so; and what is said when it does not speak it', async (t) => {
    const listener = serveRpc('/mcp', ({ method }) =>
      method === 'initialize' ? { result: hello } : method === 'tools/list' ? { result: { tools: [] } } : undefined,
    ) as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void;
    const server = createHttp2Server(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const report = await ask((server.address() as AddressInfo).port, { protocol: 'h2c' });
    assert.ok(report.ok, linesOf(report).join('\n'));
    assert.deepEqual(report.server, { name: 'quirky', version: '7' });
    const http1 = await serve(
      t,
      serveRpc('/mcp', () => ({ result: hello })),
    );
    const wrong = await ask(http1, { protocol: 'h2c' });
    assert.match(linesOf(wrong).join('\n'), /^bad connection: .* → Does 127\.0\.0\.1:\d+ speak HTTP\/2 without TLS\?/);
  });

  test('an SSE server that announces another host', async (t) => {
    const port = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: endpoint\ndata: http://elsewhere.example/messages\n\n');
    });
    const [line] = linesOf(await ask(port, { path: '/sse', sse: true }));
    assert.match(
      line!,
      /^bad connection: the event stream announces the endpoint http:\/\/elsewhere\.example\/messages, which is at another host/,
    );
  });
});
