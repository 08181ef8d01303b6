// What workers have in common towards identity providers and clients: one fetcher of keys, one limit for registrations, one memory of logins.
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { describe, test, type TestContext } from 'node:test';
import type { InspectedFlow } from '../../src/gateway/observe/flow-inspector.ts';
import type { JournaledRequest } from '../../src/gateway/observe/journaled-request.ts';
import { startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { FlowClient } from '../idp/flow-client.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { describeProtectedGateway } from '../idp/protected-gateway.ts';
import { startCountingUpstream } from '../integration/counting-upstream.ts';
import { listenOnLoopback } from '../integration/gateway-fixture.ts';
import { bearerOf, jwtPolicyOf, type KeyServer, startKeyServer } from '../integration/jwt-authentication-fixture.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { createIssuer, type TestIssuer } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';
import { connectToEach, type KeptConnection, killHard, listWorkers } from '../integration/workers-fixture.ts';

const workers = ['--workers', '2'];

async function connect(t: TestContext, gateway: GatewayProcessRun, path: string): Promise<KeptConnection[]> {
  const connections = await connectToEach(listWorkers(gateway.child.pid), gateway.port, path);
  t.after(() => {
    for (const connection of connections.values()) connection.close();
  });
  assert.equal(connections.size, 2);
  return [...connections.values()];
}

describe('keys', () => {
  async function start(t: TestContext): Promise<{ gateway: GatewayProcessRun; issuer: TestIssuer; keys: KeyServer }> {
    const upstream = await startCountingUpstream();
    t.after(() => upstream.close());
    const issuer = createIssuer('https://idp.example.com');
    const keys = await startKeyServer(issuer.jwks);
    t.after(() => keys.close());
    const provider = { name: 'one', issuer: issuer.issuer, audiences: ['api'], jwks: { url: keys.url } };
    const gateway = await runGatewayProcess({
      resources: (port) => [
        gatewayResource(port),
        routeResource('a', [ruleTo('/a', 'a')]),
        backendResource('a', upstream.port),
        jwtPolicyOf('jwt', { kind: 'HTTPRoute', name: 'a' }, { providers: [provider] }),
      ],
      flags: [...workers, '--log-format', 'json'],
    });
    t.after(() => gateway.stop());
    return { gateway, issuer, keys };
  }

  test('are fetched once for all workers, at the start, when they are unknown, and when a worker is replaced', async (t) => {
    const { gateway, issuer, keys } = await start(t);
    const connections = await connect(t, gateway, '/a');
    const old = bearerOf(await issuer.sign());
    for (const connection of connections) assert.equal((await connection.post('/a', old)).status, 200);
    assert.equal(keys.fetches, 1);

    // A burst of tokens with keys that nobody knows, at both.
    const strange = bearerOf(await createIssuer(issuer.issuer, { kid: 'strange' }).sign());
    const burst = connections.flatMap((connection) => [connection, connection, connection]);
    for (const answer of await Promise.all(burst.map((connection) => connection.post('/a', strange))))
      assert.equal(answer.status, 401);
    assert.equal(keys.fetches, 2);

    const before = listWorkers(gateway.child.pid);
    killHard(before[0]!);
    await waitFor(
      async () =>
        (await gateway.readMetric('mcp_gateway_workers')) === 2 && listWorkers(gateway.child.pid)[0] !== before[0],
    );
    for (const connection of await connect(t, gateway, '/a'))
      assert.equal((await connection.post('/a', old)).status, 200);
    assert.equal(keys.fetches, 2);
  });

  test('that rotate are taken by all workers, whoever saw the new one first', async (t) => {
    const { gateway, issuer, keys } = await start(t);
    const connections = await connect(t, gateway, '/a');
    const old = bearerOf(await issuer.sign());
    for (const connection of connections) assert.equal((await connection.post('/a', old)).status, 200);
    issuer.rotate('two');
    keys.document = issuer.jwks;
    const fresh = bearerOf(await issuer.sign());
    assert.equal((await connections[0]!.post('/a', fresh)).status, 200);
    assert.equal((await connections[1]!.post('/a', fresh)).status, 200);
    assert.equal(keys.fetches, 2);
    for (const connection of connections) assert.equal((await connection.post('/a', old)).status, 401);
  });

  test('what policies decided at any worker is in the journal', async (t) => {
    const { gateway } = await start(t);
    for (const connection of await connect(t, gateway, '/a')) await connection.post('/a');
    const page = `http://127.0.0.1:${gateway.adminPort}/requests?format=json`;
    const { requests } = (await (await fetch(page)).json()) as { requests: JournaledRequest[] };
    const times = requests.map(({ time }) => time);
    assert.ok(requests.length >= 4, `${requests.length} requests`);
    assert.deepEqual(times, times.toSorted().toReversed());
    for (const { id } of requests) {
      const one = await fetch(`http://127.0.0.1:${gateway.adminPort}/requests/${id}?format=json`);
      assert.equal(one.status, 200);
    }
  });
});

describe('logins', () => {
  test('one registration limit for all workers', async (t) => {
    const idp = await startQuirky({}, { registration: { limits: { perMinute: 3 } } });
    t.after(() => idp.close());
    const upstream = await startMcpUpstream();
    t.after(() => upstream.close());
    const gateway = await runGatewayProcess(
      describeProtectedGateway({
        backends: [{ path: '/tickets', port: upstream.port, authentication: idp.authentication }],
        flags: workers,
      }),
    );
    t.after(() => gateway.stop());
    const connections = await connect(t, gateway, '/tickets');
    const client = JSON.stringify({ client_name: 'test', redirect_uris: ['http://127.0.0.1:1/callback'] });
    const statuses: number[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const connection = connections[turn % 2]!;
      const headers = { 'content-type': 'application/json' };
      statuses.push((await connection.post('/.oauth/tickets/register', headers, client)).status);
    }
    assert.deepEqual(statuses, [201, 201, 201, 429, 429, 429]);
  });

  test('a login whose requests reach different workers works, and is one flow', async (t) => {
    const idp = await startQuirky({ advertisesIss: true, emitsIss: 'always' }, {});
    t.after(() => idp.close());
    const upstream = await startMcpUpstream();
    t.after(() => upstream.close());
    const gateway = await runGatewayProcess(
      describeProtectedGateway({
        backends: [{ path: '/tickets', port: upstream.port, authentication: idp.authentication }],
        flags: workers,
      }),
    );
    t.after(() => gateway.stop());
    // Every request of this client has a connection of its own.
    const client = new FlowClient(gateway.urlOf('/tickets'));
    await client.getChallenge();
    await client.discoverResource();
    await client.discoverServer();
    await client.register();
    await client.redeem(await client.logIn(new BrowserAgent()));
    assert.equal((await client.post()).status, 200);
    const page = `http://127.0.0.1:${gateway.adminPort}/flows?format=json`;
    const readFlows = async (): Promise<InspectedFlow[]> =>
      ((await (await fetch(page)).json()) as { flows: InspectedFlow[] }).flows;
    await waitFor(async () => (await readFlows()).some(({ state }) => state === 'authorized'));
    const flows = await readFlows();
    assert.equal(flows.length, 1);
    const names = flows[0]!.steps.map(({ name }) => name);
    for (const name of ['access', 'register', 'authorize', 'token']) assert.ok(names.includes(name), names.join());
    assert.equal(flows[0]!.acceptedRequests, 1);
  });
});

test('a message URL of a legacy SSE server is good at every worker', async (t) => {
  let stream: ServerResponse | undefined;
  const posts: string[] = [];
  const server = await listenOnLoopback(
    createServer((request, response) => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('event: endpoint\ndata: /messages?session=7\n\n');
        stream = response;
        return;
      }
      posts.push(request.url!);
      request.resume().on('end', () => {
        response.writeHead(202).end();
        stream?.write('event: message\ndata: {}\n\n');
      });
    }),
  );
  t.after(() => server.close());
  const gateway = await runGatewayProcess({
    resources: (port) => [
      gatewayResource(port),
      routeResource('a', [ruleTo('/a', 'a')]),
      backendResource('a', server.port, '/sse', {
        targets: [{ name: 'a', static: { host: '127.0.0.1', port: server.port, path: '/sse', protocol: 'SSE' } }],
      }),
    ],
    flags: workers,
  });
  t.after(() => gateway.stop());
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/a`, { headers: { accept: 'text/event-stream' } });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  t.after(() => reader.cancel());
  let text = '';
  await waitFor('the event with the endpoint', async () => {
    text += (await reader.read()).value ?? '';
    return text.includes('\n\n');
  });
  const url = /^data: (.*)$/m.exec(text)![1]!;
  posts.length = 0;
  for (const connection of await connect(t, gateway, '/nothing'))
    assert.equal((await connection.post(url)).status, 202);
  assert.deepEqual(posts, ['/messages?session=7', '/messages?session=7']);
});
