// `mcp-gatehouse gateway` against the xDS server of a controller: serving, changing, failing closed, restarting.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { AuthenticationMode, AuthorizationAction, type Policy } from '../../src/ir/gen/config_pb.ts';
import { Watchable } from '../../src/base/watchable.ts';
import type { XdsServer } from '../../src/xds/server.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import {
  configure, gatewayName, getStatus, makeFolder, policy, publish, route, startController, startGatewayCommand, waitForSettled,
} from './gateway-command-fixture.ts'; // prettier-ignore
import { listenOnLoopback, startUpstream, type Upstream } from './gateway-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

let upstream: Upstream;
before(async () => {
  upstream = await startUpstream();
});
after(() => upstream.close());

const url = (server: XdsServer, scheme = 'http'): string => `${scheme}://127.0.0.1:${server.port}`;
const freePort = async (): Promise<number> => (await findFreePorts(1))[0]!;

/** Refuses every request: the tests have no tokens. */
const jwt = (name: string, httpRoute: string, keysUrl: string): Policy =>
  policy(name, httpRoute, {
    case: 'jwtAuthentication',
    value: {
      mode: AuthenticationMode.STRICT,
      providers: [
        {
          name: 'idp',
          issuer: 'https://idp.test',
          keys: { source: { case: 'url', value: keysUrl }, allowInsecureHttp: true, cacheDurationMs: 300_000 },
        },
      ],
      location: { location: { case: 'header', value: { name: 'authorization', prefix: 'Bearer ' } } },
    },
  });

const rules = (name: string, httpRoute: string, expression: string): Policy =>
  policy(name, httpRoute, {
    case: 'authorization',
    value: { action: AuthorizationAction.DENY, expressions: [expression] },
  });

describe('a gateway with a controller', () => {
  test('is ready with the first configuration, follows changes, and outlives the controller', async (t) => {
    const server = await startController(t);
    const port = await freePort();
    const gateway = await startGatewayCommand(t, url(server));
    await waitFor(() => gateway.child.readOutput().includes('started; the controller says what to serve'));
    assert.equal(await gateway.isReady(), false);

    const digest = publish(server, configure(port, upstream.port, { routes: [route('r', '/')] }));
    await waitFor(() => gateway.isReady());
    assert.equal(await getStatus(port, '/'), 200);
    await waitForSettled(server, digest);
    const [connected] = server.connected.get();
    assert.deepEqual([connected!.nodeId, connected!.gateway, connected!.rejections], ['pod-1', gatewayName, []]);

    publish(server, configure(port, upstream.port, { routes: [route('r', '/')], policies: [rules('p', 'r', 'true')] }));
    await waitFor(async () => (await getStatus(port, '/')) === 403);

    await server.close();
    await waitFor(() => gateway.child.readOutput().includes('the configuration in force stays in force'));
    assert.equal(await getStatus(port, '/'), 403);
    assert.equal(await gateway.isReady(), true);
    assert.equal(await gateway.stop(), 0);
  });

  test('closes what a policy that it rejects was to protect, tells why, and heals with it', async (t) => {
    const server = await startController(t);
    const port = await freePort();
    await startGatewayCommand(t, url(server));
    const routes = [route('good', '/good'), route('bad', '/bad')];
    const withRule = (expression: string) =>
      publish(server, configure(port, upstream.port, { routes, policies: [rules('p', 'bad', expression)] }));
    await waitForSettled(server, withRule('this is no expression'));
    assert.deepEqual([await getStatus(port, '/good'), await getStatus(port, '/bad')], [200, 500]);
    const [rejection] = server.connected.get()[0]!.rejections;
    assert.equal(rejection!.name, 'n/p/traffic/HTTPRoute/bad');
    assert.match(rejection!.reason, /^matchExpressions\[0\], line 1/);

    await waitForSettled(server, withRule('false'));
    assert.deepEqual([await getStatus(port, '/good'), await getStatus(port, '/bad')], [200, 200]);
    assert.deepEqual(server.connected.get()[0]!.rejections, []);
  });

  test('tells the controller of ports that are taken, and takes them when they are free', async (t) => {
    const server = await startController(t);
    const taken = await listenOnLoopback(createTcpServer());
    const free = await freePort();
    const gateway = await startGatewayCommand(t, url(server));
    const { listeners, ...others } = configure(free, upstream.port, { routes: [route('r', '/')] });
    const second = { ...listeners[0]!, key: 'n/g/second', name: 'second', port: taken.port };
    publish(server, { ...others, listeners: [...listeners, second] });
    await waitFor(() => gateway.isReady());
    assert.equal(await getStatus(free, '/'), 200);
    await waitFor(() => (server.connected.get()[0]?.bindProblems ?? []).length > 0);
    const [problem] = server.connected.get()[0]!.bindProblems;
    assert.equal(problem!.port, taken.port);
    assert.match(problem!.reason, /another process or listener already uses it/);
    await taken.close();
    await waitFor(() => server.connected.get()[0]?.bindProblems.length === 0);
    assert.notEqual(await getStatus(taken.port, '/'), 'refused');
    assert.equal(gateway.child.readOutput().split('already uses it').length - 1, 1, 'said once');
  });

  test('tells the controller of keys that are missing, and when they have come', async (t) => {
    const server = await startController(t);
    const port = await freePort();
    let hasKeys = false;
    const idp: Server = createServer((_, response) => {
      response.statusCode = hasKeys ? 200 : 500;
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          keys: [
            {
              kty: 'EC',
              crv: 'P-256',
              kid: 'k',
              alg: 'ES256',
              x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
              y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
            },
          ],
        }),
      );
    });
    const bound = await listenOnLoopback(idp);
    t.after(() => bound.close());
    await startGatewayCommand(t, url(server));
    const policies = [
      jwt('p', 'r', `http://127.0.0.1:${bound.port}/keys`),
      jwt('q', 'other', 'http://127.0.0.1:1/keys'),
    ];
    await waitForSettled(
      server,
      publish(server, configure(port, upstream.port, { routes: [route('r', '/')], policies })),
    );
    const problems = () =>
      (server.connected.get()[0]?.keyProblems ?? []).map((each) => [each.policy, each.issuer, each.neverLoaded]);
    await waitFor(() => problems().length === 2);
    assert.deepEqual(problems(), [
      ['n/p/traffic/HTTPRoute/r', 'https://idp.test', true],
      ['n/q/traffic/HTTPRoute/other', 'https://idp.test', true],
    ]);
    await waitFor(() => server.connected.get()[0]!.keyProblems.some(({ reason }) => /answers 500/.test(reason)));
    hasKeys = true;
    await waitFor(() => problems().length === 1);
    assert.equal(problems()[0]![0], 'n/q/traffic/HTTPRoute/other');
  });

  test('speaks TLS, and reads authority and token anew for each connection', async (t) => {
    const folder = makeFolder(t);
    const [caFile, tokenFile] = [join(folder, 'ca.crt'), join(folder, 'token')];
    const authorities = [createAuthority('one'), createAuthority('two')] as const;
    const certify = (index: 0 | 1) => {
      const { cert, key } = createCertificate({ names: ['127.0.0.1'], issuer: authorities[index] });
      return { certificateChain: cert, privateKey: key };
    };
    const certificate = new Watchable<ReturnType<typeof certify> | undefined>(certify(0));
    const tokens: (string | undefined)[] = [];
    const server = await startController(t, {
      certificate,
      authorizeGateway({ token }) {
        tokens.push(token);
        return Promise.resolve(
          token === 'good'
            ? { allowed: true }
            : { allowed: false, code: 'unauthenticated', reason: 'that token is of no use' },
        );
      },
    });
    writeFileSync(caFile, authorities[1].cert);
    writeFileSync(tokenFile, 'bad\n');
    const gateway = await startGatewayCommand(t, url(server, 'https'), [
      '--controller-ca',
      caFile,
      '--controller-token',
      tokenFile,
    ]);
    await waitFor(() => gateway.child.readOutput().includes('no connection to the controller'));
    assert.deepEqual(tokens, [], 'nothing is said to a server that nobody vouches for');
    writeFileSync(caFile, authorities[0].cert);
    await waitFor(() => gateway.child.readOutput().includes('that token is of no use'));
    assert.match(gateway.child.readOutput(), /the controller refuses this gateway/);
    writeFileSync(tokenFile, 'good\n');
    const port = await freePort();
    publish(server, configure(port, upstream.port, { routes: [route('r', '/')] }));
    await waitFor(() => gateway.isReady());
    assert.doesNotMatch(gateway.child.readOutput(), /"bad"|good/, 'tokens are in no line');
  });
});

describe('a snapshot file', () => {
  test('lets a gateway start without its controller, and what it closed stays closed', async (t) => {
    const server = await startController(t);
    const port = await freePort();
    const file = join(makeFolder(t), 'snapshot');
    const flags = ['--snapshot-file', file];
    const first = await startGatewayCommand(t, url(server), flags);
    const configuration = configure(port, upstream.port, {
      routes: [route('open', '/open'), route('closed', '/closed'), route('broken', '/broken')],
      policies: [rules('p', 'closed', 'true'), rules('q', 'broken', 'no expression')],
    });
    await waitForSettled(server, publish(server, configuration));
    await server.close();
    assert.equal(await first.stop(), 0);
    assert.equal(statSync(file).mode & 0o777, 0o600);

    const second = await startGatewayCommand(t, 'http://127.0.0.1:1', flags);
    await waitFor(() => second.isReady());
    const statuses = ['/open', '/closed', '/broken'].map((path) => getStatus(port, path));
    assert.deepEqual(await Promise.all(statuses), [200, 403, 500]);
    await second.stop();

    // And with one: nothing that has not changed is sent again, but for what was rejected.
    const later = await startController(t);
    const third = await startGatewayCommand(t, url(later), flags);
    await waitForSettled(later, publish(later, configuration));
    assert.deepEqual(
      later.connected.get()[0]!.rejections.map(({ name }) => name),
      ['n/q/traffic/HTTPRoute/broken'],
    );
    const text = await (await fetch(`http://127.0.0.1:${third.metricsPort}/metrics`)).text();
    const count = /mcp_gateway_xds_resources_total\{type="policies",change="updated"\} (\d+)/.exec(text)?.[1];
    assert.equal(count, '1');
    assert.doesNotMatch(text, /mcp_gateway_xds_resources_total\{type="routes"/);
  });

  test('that is damaged, or of another Gateway, is not used; the log says so in one line', async (t) => {
    const server = await startController(t);
    const port = await freePort();
    const folder = makeFolder(t);
    const file = join(folder, 'snapshot');
    const first = await startGatewayCommand(t, url(server), ['--snapshot-file', file]);
    await waitForSettled(server, publish(server, configure(port, upstream.port, { routes: [route('r', '/')] })));
    await first.stop();
    const good = readFileSync(file);
    const cases = [
      [good.subarray(0, -1), 'the snapshot file is damaged'],
      [Buffer.from(good.toString('latin1').replace(' n/g ', ' n/x '), 'latin1'), 'the snapshot file is damaged'],
      [Buffer.from('hello'), 'the snapshot file is not a snapshot file'],
    ] as const;
    for (const [bytes, sentence] of cases) {
      const broken = join(folder, 'broken');
      writeFileSync(`${broken}.tmp`, bytes);
      renameSync(`${broken}.tmp`, broken);
      const gateway = await startGatewayCommand(t, 'http://127.0.0.1:1', ['--snapshot-file', broken]);
      await waitFor(() => gateway.child.readOutput().includes('started; the controller says what to serve'));
      const lines = gateway.child.readOutput().split('\n');
      assert.equal(lines.filter((line) => line.includes(sentence)).length, 1, lines.join('\n'));
      assert.equal(await gateway.isReady(), false);
      assert.equal(await getStatus(port, '/'), 'refused');
      await gateway.stop();
    }
  });
});

test('each wrong flag gets one line, and nothing starts', async (t) => {
  const other = await startGatewayCommand(t, 'tcp://somewhere', ['--trusted-proxies', '10.0.0.300/8']);
  assert.equal(await other.child.waitForExit(), 2);
  assert.equal(
    other.child.readOutput(),
    [
      'mcp-gatehouse gateway: --controller must be http://host:port or https://host:port, not "tcp://somewhere"',
      'mcp-gatehouse gateway: --trusted-proxies must be networks such as 10.0.0.0/8 or 2001:db8::/32, or single addresses, not "10.0.0.300/8"',
      'See mcp-gatehouse gateway --help.',
      '',
    ].join('\n'),
  );
});
