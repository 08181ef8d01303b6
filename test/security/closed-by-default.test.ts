// Where it is asked for, a route that nothing protects is closed: a deleted policy opens nothing, and neither do policies that let everybody in.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { checkCommand } from '../../src/cmd/check.ts';
import type { CheckReport } from '../../src/cmd/check-report.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import type { ExplainReport } from '../../src/cmd/explain/explain-report.ts';
import { runExplain, runToken } from '../integration/explain-fixture.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { createReadMarker, type ReadMarker } from '../kit/read-marker.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';

const issuer = createIssuer('https://idp.example.com', { algorithm: 'ES256' });
const jwt = (mode = 'Strict'): object => ({ jwtAuthentication: { mode, providers: [providerOf('idp', issuer)] } });
const rules = (action: string, ...matchExpressions: string[]): object => ({
  authorization: { action, policy: { matchExpressions } },
});
const login = (mode = 'Strict'): object => ({
  backend: { mcp: { authentication: { mode, issuer: 'https://idp.example.com', jwks: { inline: issuer.jwks } } } },
});

const groups: Readonly<Record<string, string>> = { ProxyBackend: 'gateway.proxy' };
const policy = (kind: string, name: string, spec: object, own = `${kind}-${name}`.toLowerCase()): object => ({
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: own },
  spec: {
    targetRefs: [{ group: groups[kind] ?? 'gateway.networking.k8s.io', kind, name }],
    ...spec,
  },
});
const onRoute = (traffic: object, own?: string): object => policy('HTTPRoute', 'tools', { traffic }, own);
const onGateway = (traffic: object, enforcement = 'Default', own?: string): object =>
  policy('Gateway', 'test', { enforcement, traffic }, own);

let upstream: RecordingUpstream;
let events: RecordingUpstream;
let gateway: GatewayRun;
let marker: ReadMarker;
/** Streams of the upstream that are open. */
let streaming = 0;

const base = (port: number): object[] => [
  gatewayResource(port),
  routeResource('tools', [
    { name: 'mcp', ...ruleTo('/tools', 'tools') },
    {
      matches: [{ path: { type: 'PathPrefix', value: '/old' } }],
      filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'new.example.com' } }],
    },
  ]),
  backendResource('tools', upstream.port),
  backendResource('other', upstream.port),
  backendResource('events', events.port),
];

async function call(path: string, token?: string): Promise<string> {
  const answer = await fetch(gateway.urlOf(path), {
    method: 'POST',
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'delete_everything' } }),
  });
  const text = await answer.text();
  const reason = answer.status < 400 ? '' : ` ${(JSON.parse(text) as { error: string }).error}`;
  return `${answer.status}${reason}`;
}

async function configure(resources: readonly object[]): Promise<void> {
  gateway.write(resources);
  await marker.waitUntilRead(gateway);
}

before(async () => {
  upstream = await startMcpUpstream();
  events = await startRecordingUpstream('events', (_request, response) => {
    streaming += 1;
    response.on('close', () => (streaming -= 1));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n');
  });
  marker = createReadMarker();
  gateway = await runGateway({
    resources: base,
    flags: [...marker.flags, '--deny-unprotected', '--log-format', 'json'],
  });
});

after(async () => {
  await gateway?.stop();
  await upstream?.close();
  await events?.close();
  marker?.remove();
});

const closed = '403 route_unprotected';

/** What stands around the route, and what becomes of a request without a token. */
const cases: Readonly<Record<string, readonly [resources: readonly object[], answer: string]>> = {
  'no policy at all': [[], closed],
  'CORS alone': [[onRoute({ cors: { allowOrigins: ['*'] } })], closed],
  'Strict authentication of the route': [[onRoute(jwt())], '401 missing_token'],
  'Strict authentication of the Gateway': [[onGateway(jwt())], '401 missing_token'],
  'Strict authentication of the backend': [[policy('ProxyBackend', 'tools', login())], '401 missing_token'],
  'Optional authentication': [[onRoute(jwt('Optional'))], closed],
  'Optional authentication of the backend': [[policy('ProxyBackend', 'tools', login('Optional'))], closed],
  'Permissive authentication': [[onRoute(jwt('Permissive'))], closed],
  'Permissive authentication with rules over claims': [
    [onRoute({ ...jwt('Permissive'), ...rules('Allow', 'has(jwt.sub)') })],
    closed,
  ],
  'Optional authentication with an Allow over claims': [
    [onRoute({ ...jwt('Optional'), ...rules('Allow', 'has(jwt.sub)', '"staff" in jwt.groups') })],
    '403 rbac_denied',
  ],
  'Optional authentication with a Require over claims': [
    [onRoute({ ...jwt('Optional'), ...rules('Require', 'request.method == "POST"', 'jwt.sub != ""') })],
    '403 rbac_denied',
  ],
  'Optional authentication with a Deny of requests without a token': [
    [onRoute({ ...jwt('Optional'), ...rules('Deny', '!has(jwt.sub)') })],
    '403 rbac_denied',
  ],
  'Optional authentication with an Allow that looks at the request': [
    [onRoute({ ...jwt('Optional'), ...rules('Allow', 'request.path.startsWith("/tools")') })],
    closed,
  ],
  'Optional authentication with an Allow that a request without a token can satisfy': [
    [onRoute({ ...jwt('Optional'), ...rules('Allow', 'has(jwt.sub)', 'request.method == "POST"') })],
    closed,
  ],
  'Optional authentication with an Allow that is always true': [
    [onRoute({ ...jwt('Optional'), ...rules('Allow', '!has(jwt.sub) || jwt.sub == "alice"') })],
    closed,
  ],
  'Optional authentication with a Deny of some claims': [
    [onRoute({ ...jwt('Optional'), ...rules('Deny', 'has(jwt.sub) && jwt.sub == "mallory"') })],
    closed,
  ],
  'Optional authentication with rules over messages': [
    [
      policy('ProxyBackend', 'tools', {
        backend: {
          mcp: {
            ...(login('Optional') as { backend: { mcp: object } }).backend.mcp,
            authorization: { policy: { matchExpressions: ['has(jwt.sub)'] } },
          },
        },
      }),
    ],
    closed,
  ],
  'Optional authentication of the backend with an Allow over claims': [
    [policy('ProxyBackend', 'tools', login('Optional')), onRoute(rules('Allow', 'has(jwt.sub)'))],
    '403 rbac_denied',
  ],
  'rules without authentication': [[onRoute(rules('Allow', 'has(jwt.sub)'))], closed],
  'a policy of another route': [
    [routeResource('next', [ruleTo('/next', 'tools')]), policy('HTTPRoute', 'next', { traffic: jwt() })],
    closed,
  ],
  'public access of the route': [[onRoute({ publicAccess: true })], '200'],
  'public access against authentication of the Gateway': [[onGateway(jwt()), onRoute({ publicAccess: true })], '200'],
  'public access against an Override of authentication': [
    [onGateway(jwt(), 'Override'), onRoute({ publicAccess: true })],
    '401 missing_token',
  ],
  'public access against authentication of the same route': [
    [onRoute({ publicAccess: true }, 'a-first'), onRoute(jwt(), 'z-last')],
    '401 missing_token',
  ],
  'public access against authentication of the backend': [
    [onRoute({ publicAccess: true }), policy('ProxyBackend', 'tools', login())],
    '401 missing_token',
  ],
  'public access against rules of the Gateway': [
    [onGateway(rules('Require', 'has(jwt.sub)')), onRoute({ publicAccess: true })],
    '403 rbac_denied',
  ],
};

describe('a request without a token', () => {
  for (const [what, [policies, answer]] of Object.entries(cases)) {
    test(`${what}: ${answer}`, async () => {
      await configure([...base(gateway.port), ...policies]);
      const seen = upstream.requests.length;
      assert.equal(await call('/tools'), answer);
      assert.equal(upstream.requests.length - seen, answer === '200' ? 1 : 0);
      if (answer !== closed) return;
      assert.equal(await call('/tools', await issuer.sign({ sub: 'alice' })), closed, 'a token changes nothing');
      const preflight = await fetch(gateway.urlOf('/tools'), {
        method: 'OPTIONS',
        headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
      });
      assert.equal(preflight.status, 403, 'nor does a preflight');
      assert.equal(upstream.requests.length, seen, 'nothing got through');
    });
  }

  test('a rule of its own is public, and the others are not', async () => {
    const open = policy('HTTPRoute', 'tools', { traffic: { publicAccess: true } }) as {
      spec: { targetRefs: object[] };
    };
    open.spec.targetRefs = [{ ...open.spec.targetRefs[0], sectionName: 'mcp' }];
    const others = routeResource('others', [ruleTo('/others', 'tools')]);
    await configure([...base(gateway.port), open, others]);
    assert.deepEqual([await call('/tools'), await call('/others')], ['200', closed]);
  });

  test('one of two backends without protection closes both', async () => {
    const backendRefs = ['tools', 'other'].map((name) => ({ group: 'gateway.proxy', kind: 'ProxyBackend', name }));
    const both = routeResource('both', [{ ...ruleTo('/both', 'tools'), backendRefs }]);
    await configure([...base(gateway.port), both, policy('ProxyBackend', 'tools', login())]);
    const seen = upstream.requests.length;
    for (let i = 0; i < 8; i += 1) assert.equal(await call('/both'), closed);
    assert.equal(upstream.requests.length, seen);
  });

  test('redirects lead to no backend, and the endpoints of logins are open', async () => {
    await configure([...base(gateway.port), policy('ProxyBackend', 'tools', login('Optional'))]);
    assert.equal(await call('/old/page'), '302');
    assert.equal(await call('/tools'), closed);
    const metadata = await fetch(gateway.urlOf('/.well-known/oauth-protected-resource/tools'));
    assert.equal(metadata.status, 200);
  });
});

describe('a policy that is deleted', () => {
  test('opens nothing, and neither do all of them', async () => {
    const guards = [onGateway(jwt('Optional'), 'Default', 'everywhere'), onRoute(jwt())];
    const token = await issuer.sign({ sub: 'alice' });
    await configure([...base(gateway.port), ...guards]);
    assert.deepEqual([await call('/tools'), await call('/tools', token)], ['401 missing_token', '200']);
    const seen = upstream.requests.length;
    const answers = new Set<string>();
    const done = new AbortController();
    const asking = (async () => {
      while (!done.signal.aborted) answers.add(await call('/tools'));
    })();
    await configure([...base(gateway.port), guards[0]!]);
    assert.equal(await call('/tools'), closed);
    await configure(base(gateway.port));
    assert.equal(await call('/tools'), closed);
    await configure([...base(gateway.port), ...guards]);
    done.abort();
    await asking;
    assert.equal(await call('/tools'), '401 missing_token');
    assert.deepEqual(
      [...answers].filter((answer) => answer !== closed && answer !== '401 missing_token'),
      [],
    );
    assert.equal(upstream.requests.length, seen, 'nothing got through');
  });

  test('closes what it opened', async () => {
    await configure([...base(gateway.port), onRoute({ publicAccess: true })]);
    assert.equal(await call('/tools'), '200');
    await configure(base(gateway.port));
    assert.equal(await call('/tools'), closed);
  });
});

describe('requests that began while the route was open', () => {
  const stream = routeResource('stream', [ruleTo('/stream', 'events')]);
  const open = policy('HTTPRoute', 'stream', { traffic: { publicAccess: true } });
  const other = policy('HTTPRoute', 'tools', { traffic: jwt() });

  /** An open stream: resolves when it ends. */
  async function listen(token?: string): Promise<{ readonly ended: Promise<string> }> {
    const answer = await fetch(gateway.urlOf('/stream'), {
      headers: {
        accept: 'text/event-stream',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    assert.equal(answer.status, 200);
    const reader = answer.body!.getReader();
    assert.match(Buffer.from((await reader.read()).value ?? []).toString(), /notifications\/message/);
    const ended = (async () => {
      try {
        while (!(await reader.read()).done);
        return 'ended';
      } catch {
        return 'aborted';
      }
    })();
    return { ended };
  }

  test('an anonymous stream goes on while its route stays open, and ends when it closes', async () => {
    await configure([...base(gateway.port), stream, open]);
    const { ended } = await listen();
    await configure([...base(gateway.port), stream, open, other]);
    assert.equal(streaming, 1, 'another policy does not concern it');
    await configure([...base(gateway.port), stream]);
    assert.equal(await ended, 'aborted');
    await waitFor('the upstream was told', () => streaming === 0);
    await waitFor('the log says why', () =>
      gateway.readLog().some(({ path, reason }) => path === '/stream' && reason === 'route_unprotected'),
    );
  });

  test('it ends as well when a policy asks for a token from now on', async () => {
    await configure([...base(gateway.port), stream, open]);
    const { ended } = await listen();
    await configure([...base(gateway.port), stream, policy('HTTPRoute', 'stream', { traffic: jwt() })]);
    assert.equal(await ended, 'aborted');
    await waitFor('the upstream was told', () => streaming === 0);
  });

  test('a stream with a token was judged, and goes on', async () => {
    await configure([...base(gateway.port), stream, policy('HTTPRoute', 'stream', { traffic: jwt() })]);
    const { ended } = await listen(await issuer.sign({ sub: 'alice' }));
    let isOver = false;
    void ended.then(() => (isOver = true));
    await configure([...base(gateway.port), stream]);
    assert.equal(await call('/stream'), closed);
    assert.deepEqual([isOver, streaming], [false, 1]);
    await configure([gatewayResource(gateway.port)]);
  });

  test('an upgraded connection ends, too', async () => {
    const sockets = await startUpgrading();
    const socketRoute = routeResource('stream', [ruleTo('/stream', 'sockets')]);
    const backend = backendResource('sockets', sockets.port);
    try {
      await configure([...base(gateway.port), backend, socketRoute, open]);
      const socket = connect(gateway.port, '127.0.0.1');
      const isClosed = new Promise((resolve) => socket.on('close', resolve));
      socket.on('error', () => {});
      const head = new Promise<string>((resolve) => socket.once('data', (chunk: Buffer) => resolve(chunk.toString())));
      socket.write('GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\n');
      assert.match(await head, /^HTTP\/1\.1 101 /);
      await configure([...base(gateway.port), backend, socketRoute]);
      await isClosed;
    } finally {
      await sockets.close();
    }
  });
});

/** A server that switches protocols and stays. */
async function startUpgrading(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const { createServer } = await import('node:http');
  const server = createServer();
  const open = new Set<{ destroy(): void }>();
  server.on('upgrade', (_request, socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as { port: number }).port,
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

describe('what people are told', () => {
  const write = async (resources: readonly object[]): Promise<string> => {
    const file = join(gateway.folder, 'told.json');
    await writeFile(file, resources.map((resource) => JSON.stringify(resource)).join('\n---\n'));
    return file;
  };

  test('explain says what the gateway does', async () => {
    for (const [what, [policies, answer]] of Object.entries(cases)) {
      const file = await write([...base(gateway.port), ...policies]);
      const { out } = await runExplain([
        '-f',
        file,
        '--deny-unprotected',
        '--json',
        '--method',
        'tools/list',
        '--request',
        `POST http://127.0.0.1:${gateway.port}/tools`,
      ]);
      const { verdict } = JSON.parse(out) as ExplainReport;
      const said = verdict.reason ?? '200';
      assert.equal(said, answer.replace(/^\d+ (?=\D)/, ''), what);
    }
  });

  test('explain without the flag says what a gateway without it does', async () => {
    const file = await write(base(gateway.port));
    const { out } = await runExplain(['-f', file, '--request', `POST http://127.0.0.1:${gateway.port}/tools`]);
    assert.doesNotMatch(out, /route_unprotected/);
  });

  test('token inspect tells where a token is not asked for', async () => {
    const file = await write([...base(gateway.port), onGateway(jwt()), onRoute({ publicAccess: true })]);
    const { out } = await runToken(['inspect', '-f', file], { stdin: await issuer.sign({ sub: 'alice' }) });
    assert.match(
      out,
      /HTTPRoute default\/tools, rule mcp, does not ask for it: ProxyPolicy default\/httproute-tools opens it \(traffic\.publicAccess\)/,
    );
  });

  test('check counts what is open and what is closed', async () => {
    const others = routeResource('others', [ruleTo('/others', 'tools')]);
    const file = await write([...base(gateway.port), others, onRoute({ publicAccess: true })]);
    const run = async (...flags: string[]): Promise<string> => {
      let out = '';
      const io = { stdout: (text: string) => void (out += text), stderr: () => {}, color: false, env: {} };
      await executeCommand(checkCommand, ['-f', file, ...flags], io);
      return out;
    };
    const text = await run('--deny-unprotected');
    assert.match(text, /\/others\/\* .*CLOSED: nothing protects it \(--deny-unprotected\)/);
    assert.match(text, /\/tools\/\* .*OPEN: public on purpose/);
    assert.match(text, /^1 of 3 routes are OPEN, 1 of them on purpose, 1 closed because nothing protects it\.$/m);
    assert.deepEqual((JSON.parse(await run('--deny-unprotected', '--json')) as CheckReport).access, {
      routes: 3,
      open: 1,
      publicAccess: 1,
      closed: 1,
    });
    assert.match(await run(), /^2 of 3 routes are OPEN, 1 of them on purpose\.$/m);
    assert.match(await run('--deny-unprotected', '--allow-unattached'), /^$/);
  });

  test('the banner, the log and the admin pages', async (t) => {
    const run = await runGateway({ resources: base, flags: ['--deny-unprotected', '--log-format', 'text'] });
    t.after(() => run.stop());
    assert.match(run.readOutput(), /CLOSED: nothing protects it \(--deny-unprotected\)/);
    const page = await (await fetch(`http://127.0.0.1:${run.adminPort}/`)).text();
    assert.match(page, /1 closed because nothing protects it/);
    const config = await (
      await fetch(`http://127.0.0.1:${run.adminPort}/config`, { headers: { accept: 'text/html' } })
    ).text();
    assert.match(config, /unprotectedRoutes: Deny/);
    const routes = await (await fetch(`http://127.0.0.1:${run.adminPort}/routes?format=text`)).text();
    assert.match(routes, /CLOSED: nothing protects it \(--deny-unprotected\)/);
  });

  test('the short form', async (t) => {
    const { runCommand } = await import('../../src/cmd/run.ts');
    const { runCommandHere } = await import('../kit/run-command.ts');
    const { findFreePorts } = await import('../kit/free-ports.ts');
    const [port, ...own] = (await findFreePorts(4)) as [number, number, number, number];
    const ports = ['--admin-port', own[0], '--metrics-port', own[1], '--readiness-port', own[2]].map(String);
    const run = runCommandHere(
      runCommand,
      ['--target', `http://127.0.0.1:${upstream.port}/mcp`, '--port', String(port), ...ports, '--deny-unprotected'],
      { ...process.env, XDG_STATE_HOME: gateway.folder },
    );
    t.after(() => run.stop());
    const answer = await waitFor('it answers', () =>
      fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', body: '{}' }).catch(() => undefined),
    );
    assert.equal(answer.status, 403);
    assert.match(await answer.text(), /route_unprotected/);
  });
});
