// HTTPS_PROXY, HTTP_PROXY and NO_PROXY: calls to identity providers go through the proxy, traffic to MCP servers does not.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { executeCommand } from '../../src/cmd/command.ts';
import { checkCommand } from '../../src/cmd/check.ts';
import { loginCommand } from '../../src/cmd/login.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { runGateway } from '../kit/run-gateway.ts';
import { createIssuer, providerOf, type TestIssuer } from '../kit/test-issuer.ts';

/** A proxy that answers for `idp.example.test` itself and refuses tunnels. */
async function startProxy(t: TestContext, issuer: TestIssuer) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.setHeader('content-type', 'application/json').end(issuer.jwks);
  });
  server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function policyOf(issuer: TestIssuer): object {
  const jwks = { url: 'http://idp.example.test/jwks', allowInsecureHttp: true };
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'auth' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'mcp' }],
      traffic: { jwtAuthentication: { providers: [providerOf('corp', issuer, { jwks })] } },
    },
  };
}

test('keys come through the proxy, and MCP traffic goes directly', async (t) => {
  const issuer = createIssuer('http://idp.example.test');
  const proxy = await startProxy(t, issuer);
  const upstream = await startMcpUpstream();
  t.after(() => upstream.close());
  const gateway = await runGateway({
    env: { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url },
    resources: (port) => [
      gatewayResource(port),
      routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
      backendResource('mcp', upstream.port),
      policyOf(issuer),
    ],
  });
  t.after(() => gateway.stop());
  const response = await fetch(`http://127.0.0.1:${gateway.port}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await issuer.sign()}` },
    body: '{}',
  });
  assert.equal(response.status, 200);
  assert.deepEqual([...new Set(proxy.seen)], ['GET http://idp.example.test/jwks']);
});

test('a proxy that cannot be used ends the start by its variable', async () => {
  let err = '';
  const io = { stdout() {}, stderr: (text: string) => void (err += text), color: false };
  const env = { HTTPS_PROXY: 'socks5://u:secret@proxy:1080' };
  await assert.rejects(
    runGateway({ env, resources: (port) => [gatewayResource(port)] }),
    /HTTPS_PROXY: proxies of the kind socks5/,
  );
  assert.equal(await executeCommand(checkCommand, ['--online', 'examples/jwt-authentication.yaml'], { ...io, env }), 1);
  assert.match(err, /^mcp-gatehouse check: HTTPS_PROXY: proxies of the kind socks5:\/\/ are not supported/);
  assert.doesNotMatch(err, /secret/);
});

test('login goes through it, too', async (t) => {
  const proxy = await startProxy(t, createIssuer('http://idp.example.test'));
  let out = '';
  const io = { stdout: (text: string) => void (out += text), stderr() {}, color: false };
  const env = { HTTPS_PROXY: proxy.url, NO_PROXY: 'else.example.test' };
  assert.equal(await executeCommand(loginCommand, ['https://mcp.example.test/mcp'], { ...io, env }), 1);
  assert.deepEqual([...new Set(proxy.seen)], ['CONNECT mcp.example.test:443']);
  assert.match(
    out,
    /The server cannot be reached: the egress proxy answers 403\.\n +→ Does the proxy of HTTPS_PROXY allow/,
  );
});

test('every call about a login does: metadata, keys, registration, the client, documents of clients; names of this network are not handed to it', async (t) => {
  const origin = 'http://idp.example.test';
  const metadata = {
    issuer: origin,
    ...Object.fromEntries(
      ['authorization', 'token', 'registration'].map((name) => [`${name}_endpoint`, `${origin}/${name}`]),
    ),
    jwks_uri: `${origin}/jwks`,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  };
  const answers: Readonly<Record<string, readonly [status: number, body: unknown]>> = {
    [`GET ${origin}/.well-known/oauth-authorization-server`]: [200, metadata],
    [`GET ${origin}/jwks`]: [200, JSON.parse(createIssuer(origin).jwks)],
    [`POST ${origin}/registration`]: [201, { client_id: 'one', client_secret: 'its-secret' }],
    [`POST ${origin}/token`]: [400, { error: 'invalid_grant' }],
  };
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    const call = `${request.method} ${request.url?.replace(/\?.*/, '')}`;
    seen.add(call);
    const [status, body] = answers[call] ?? [404, {}];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.on('connect', (request, socket) => {
    seen.add(`CONNECT ${request.url}`);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close().closeAllConnections());
  const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy };
  const upstream = await startMcpUpstream();
  t.after(() => upstream.close());
  const protect = (path: string, more: object): object[] => [
    routeResource(path, [ruleTo(`/${path}`, path)]),
    backendResource(path, upstream.port),
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyPolicy',
      metadata: { name: path },
      spec: {
        targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: path }],
        backend: { mcp: { authentication: { issuer: origin, allowInsecureHttp: true, ...more } } },
      },
    },
  ];
  const gateway = await runGateway({
    env,
    resources: (port) => [
      gatewayResource(port),
      ...protect('mcp', {}),
      ...protect('shared', { registration: { mode: 'Shared', clientId: 'gateway' } }),
    ],
  });
  t.after(() => gateway.stop());
  const base = `http://127.0.0.1:${gateway.port}`;
  const registered = await fetch(`${base}/.oauth/mcp/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['https://client.example.test/callback'] }),
  });
  assert.equal(registered.status, 201, await registered.text());
  for (const host of ['client.example.test', 'intranet', 'wiki.corp', '10.0.0.7']) {
    const query = new URLSearchParams({
      client_id: `https://${host}/oauth.json`,
      redirect_uri: `https://${host}/back`,
    });
    assert.equal((await fetch(`${base}/.oauth/mcp/authorize?${query.toString()}`)).status, 400, host);
  }
  assert.deepEqual(
    [...seen].filter((call) => call.startsWith('CONNECT ')),
    ['CONNECT client.example.test:443'],
  );
  for (const call of [`GET ${origin}/jwks`, `POST ${origin}/registration`]) assert.ok(seen.has(call), call);
  // A proxy that refuses is no way out either: clients register instead.
  const offered = await fetch(`${base}/.well-known/oauth-authorization-server/mcp`);
  assert.equal('client_id_metadata_document_supported' in ((await offered.json()) as object), false);
  seen.clear();
  const io = { stdout() {}, stderr() {}, color: false, env };
  await executeCommand(
    checkCommand,
    ['-f', join(gateway.folder, 'gateway.yaml'), '--online', '--try-registration'],
    io,
  );
  for (const call of [...Object.keys(answers), `GET ${origin}/authorization`]) assert.ok(seen.has(call), call);
});
