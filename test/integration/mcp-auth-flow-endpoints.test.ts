// What a protected host answers: its well-known documents in all their forms, several protected servers side by side, older clients, modes and scopes.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type StartedIdp, startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { ask, FlowClient, listTools, postMcp, readParameter } from '../idp/flow-client.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';

type QuirkyStart = StartedIdp & { readonly quirky: QuirkyIdp };

let upstream: RecordingUpstream;
before(async () => {
  upstream = await startMcpUpstream();
});
after(() => upstream?.close());
beforeEach(() => upstream.forget());

describe('several protected servers on one host do not collide', () => {
  let one: QuirkyStart;
  let two: QuirkyStart;
  let gateway: ProtectedGateway;
  const paths = ['/one', '/one/deeper', '/two', '/direct'];
  before(async () => {
    one = await startQuirky({}, { requiredScopes: ['tickets:read'] });
    two = await startQuirky({ advertisesIss: true, emitsIss: 'always' }, { requiredScopes: ['tickets:write'] });
    const policies = [
      one.authentication,
      { ...one.authentication, requiredScopes: ['deep'] },
      two.authentication,
      { issuer: two.issuer, flow: 'Direct' },
    ];
    gateway = await startProtectedGateway({
      backends: paths.map((path, index) => ({ path, port: upstream.port, authentication: policies[index] })),
    });
  });
  after(async () => {
    await gateway?.stop();
    await one?.close();
    await two?.close();
  });

  test('each has its own challenge, documents and endpoints', async () => {
    const scopes = ['tickets:read', 'deep', 'tickets:write', undefined];
    for (const [index, path] of paths.entries()) {
      const client = new FlowClient(gateway.urlOf(path));
      await client.getChallenge();
      assert.equal(client.scope, scopes[index]);
      assert.equal(
        readParameter(client.challengeHeader, 'resource_metadata'),
        `${gateway.url}/.well-known/oauth-protected-resource${path}`,
      );
      assert.equal(readParameter(client.challengeHeader, 'error'), undefined);
      await client.discoverResource();
      assert.deepEqual(client.resource!['bearer_methods_supported'], ['header']);
      await client.discoverServer();
      const expected = path === '/direct' ? `${two.issuer}/register` : `${gateway.url}/.oauth${path}/register`;
      assert.equal(client.server!.registration_endpoint, expected);
    }
  });

  test('each form of the metadata has the issuer that it was derived from', async () => {
    for (const path of paths.filter((each) => each !== '/direct')) {
      for (const form of [
        `/.well-known/oauth-authorization-server${path}`,
        `/.well-known/openid-configuration${path}`,
        `${path}/.well-known/openid-configuration`,
      ]) {
        const answer = await ask(gateway.url + form);
        assert.equal(answer.status, 200, `${form}: ${answer.body}`);
        assert.equal(answer.json()['issuer'], gateway.url + path, form);
        assert.match(String(answer.headers['content-type']), /^application\/json/);
      }
    }
  });

  test('there are no root forms, because they would be ambiguous', async () => {
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
      '/register',
      '/token',
      '/authorize',
    ]) {
      const answer = await ask(gateway.url + path, {
        method: path === '/register' || path === '/token' ? 'POST' : 'GET',
      });
      assert.equal(answer.status, 404, path);
    }
  });

  test('logins at all of them at once, by one person in one browser', async () => {
    const browser = new BrowserAgent();
    const clients = await Promise.all(paths.slice(0, 3).map((path) => new FlowClient(gateway.urlOf(path)).prepare()));
    const callbacks = await Promise.all(clients.map((client) => client.logIn(browser)));
    await Promise.all(clients.map((client, index) => client.redeem(callbacks[index]!)));
    for (const [index, client] of clients.entries()) {
      assert.equal((await client.post()).status, 200);
      // No token is valid for another resource.
      for (const other of paths.filter((_, at) => at !== index)) {
        const headers = { authorization: `Bearer ${client.tokens!.access_token}` };
        assert.equal((await postMcp(gateway.urlOf(other), listTools, headers)).status, 401);
      }
    }
  });
});

describe('a host with one protected server', () => {
  let idp: QuirkyStart;
  let gateway: ProtectedGateway;
  before(async () => {
    idp = await startQuirky({ advertisesIss: true, emitsIss: 'always' }, { requiredScopes: ['tickets:read'] });
    gateway = await startProtectedGateway({
      backends: [{ path: '/mcp', port: upstream.port, authentication: idp.authentication }],
    });
  });
  after(async () => {
    await gateway?.stop();
    await idp?.close();
  });

  test('the root forms are its own, each with its own issuer', async () => {
    const resource = await ask(`${gateway.url}/.well-known/oauth-protected-resource`);
    assert.equal(resource.json()['resource'], gateway.urlOf('/mcp'));
    for (const form of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
      assert.equal((await ask(gateway.url + form)).json()['issuer'], gateway.url);
    }
  });

  test('a client of 2025-03-26, which knows the root alone and no `resource`, gets through', async () => {
    const client = new FlowClient(gateway.urlOf('/mcp'));
    client.resource = { resource: client.url, authorization_servers: [gateway.url] };
    await client.discoverServer();
    await client.register();
    await client.redeem(await client.logIn(new BrowserAgent(), {}, { resource: undefined }), { resource: undefined });
    assert.equal((await client.post()).status, 200);
    await client.refresh({ resource: undefined });
    assert.equal((await client.post()).status, 200);
  });

  test('a client that guesses its endpoints, because discovery failed, gets through', async () => {
    const client = new FlowClient(gateway.urlOf('/mcp'));
    client.resource = { resource: client.url, authorization_servers: [gateway.url] };
    client.server = {
      issuer: gateway.url,
      authorization_endpoint: `${gateway.url}/authorize`,
      token_endpoint: `${gateway.url}/token`,
      registration_endpoint: `${gateway.url}/register`,
    };
    await client.register();
    await client.redeem(await client.logIn(new BrowserAgent()));
    assert.equal((await client.post()).status, 200);
  });

  const endpoints: Record<string, [method: string, cors: boolean]> = {
    '/.well-known/oauth-protected-resource/mcp': ['GET', true],
    '/.well-known/oauth-authorization-server/mcp': ['GET', true],
    '/.well-known/openid-configuration/mcp': ['GET', true],
    '/.oauth/mcp/register': ['POST', true],
    '/.oauth/mcp/token': ['POST', true],
    '/.oauth/mcp/authorize': ['GET', false],
    '/.oauth/mcp/callback': ['GET', false],
  };
  for (const [path, [method, cors]] of Object.entries(endpoints)) {
    test(`${path}: methods and CORS`, async () => {
      for (const other of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].filter((each) => each !== method)) {
        const answer = await ask(gateway.url + path, { method: other });
        assert.equal(answer.status, 405, other);
        assert.ok(String(answer.headers['allow']).includes(method));
      }
      if (method === 'GET') {
        const get = await ask(gateway.url + path);
        const head = await ask(gateway.url + path, { method: 'HEAD' });
        assert.equal(head.status, get.status);
        assert.equal(head.body, '');
      }
      const headers = { origin: 'https://app.example.com' };
      const preflight = await ask(gateway.url + path, {
        method: 'OPTIONS',
        headers: {
          ...headers,
          'access-control-request-method': method,
          'access-control-request-headers': 'content-type, mcp-protocol-version',
        },
      });
      const plain = await ask(gateway.url + path, { method, headers });
      assert.equal(plain.headers['access-control-allow-origin'], cors ? '*' : undefined);
      assert.equal(plain.headers['access-control-allow-credentials'], undefined);
      assert.ok(plain.status < 300 || plain.status >= 400, 'never a redirect');
      if (!cors) return;
      assert.ok(preflight.status === 204 || preflight.status === 200, preflight.body);
      assert.equal(preflight.headers['access-control-allow-origin'], '*');
      assert.match(String(preflight.headers['access-control-allow-methods']), new RegExp(method));
      assert.match(String(preflight.headers['access-control-allow-headers']), /mcp-protocol-version|\*/i);
    });
  }

  test('the challenge can be read by scripts', async () => {
    const answer = await postMcp(gateway.urlOf('/mcp'), listTools, { origin: gateway.url });
    assert.equal(answer.status, 401);
    assert.match(String(answer.headers['access-control-expose-headers']), /WWW-Authenticate/i);
    assert.match(String(answer.headers['access-control-expose-headers']), /Mcp-Session-Id/i);
  });

  test('neither document nor challenge ever adds offline_access', async () => {
    const resource = await ask(`${gateway.url}/.well-known/oauth-protected-resource/mcp`);
    assert.doesNotMatch(resource.body, /offline_access/);
    const challenge = await postMcp(gateway.urlOf('/mcp'), listTools);
    assert.doesNotMatch(String(challenge.headers['www-authenticate']), /offline_access/);
  });

  test('the log and the admin port name the flow in force, and the reason', async () => {
    assert.match(gateway.readOutput(), /Broker/);
    assert.match(gateway.readOutput(), /authorization_response_iss_parameter_supported|RFC 9207|`?iss`?/);
    const pages = await Promise.all(
      ['/config_dump', '/configuration', '/config', '/flows.json', '/flows', '/'].map(
        async (path) => (await ask(`http://127.0.0.1:${gateway.adminPort}${path}`)).body,
      ),
    );
    assert.match(pages.join('\n'), /Broker/);
  });
});

describe('modes, scopes and claims', () => {
  let idp: QuirkyStart;
  let gateway: ProtectedGateway;
  const policies: Record<string, Record<string, unknown>> = {
    '/optional': { mode: 'Optional' },
    '/permissive': { mode: 'Permissive' },
    '/scopes': { requiredScopes: ['tickets:read', 'tickets:write'] },
    '/claims': { requiredClaims: { groups: ['support', 'admins'] } },
    '/passing': { forwardToken: true },
    '/named': {
      resourceMetadata: {
        resource: 'https://mcp.example.com/tickets',
        resourceName: 'Tickets',
        scopesSupported: ['tickets:read'],
        resourceDocumentation: 'https://docs.example.com/',
        extraMember: { kept: true },
      },
    },
  };
  before(async () => {
    idp = await startQuirky({}, {});
    gateway = await startProtectedGateway({
      backends: Object.entries(policies).map(([path, policy]) => ({
        path,
        port: upstream.port,
        authentication: {
          ...idp.authentication,
          claimsToHeaders: [{ claim: 'sub', header: 'x-auth-subject' }],
          ...policy,
        },
      })),
    });
  });
  after(async () => {
    await gateway?.stop();
    await idp?.close();
  });

  const issue = (path: string, scope = '', user = 'alice'): Promise<string> =>
    idp.quirky.issueAccessToken({ resource: gateway.urlOf(path), scope, user });
  const post = async (path: string, token?: string) =>
    postMcp(gateway.urlOf(path), listTools, {
      'x-auth-subject': 'root',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    });

  test('Optional: absent is allowed, invalid is not', async () => {
    assert.equal((await post('/optional')).status, 200);
    assert.deepEqual(upstream.requests[0]!.all('x-auth-subject'), []);
    upstream.forget();
    assert.equal((await post('/optional', 'x')).status, 401);
    assert.equal(upstream.headCount, 0);
    assert.equal((await post('/optional', await issue('/optional'))).status, 200);
    assert.deepEqual(upstream.requests[0]!.all('x-auth-subject'), ['alice']);
  });

  test('Permissive: nothing is rejected, claims are there when the token is valid', async () => {
    assert.equal((await post('/permissive')).status, 200);
    assert.equal((await post('/permissive', 'x')).status, 200);
    assert.deepEqual(
      upstream.requests.flatMap((request) => request.all('x-auth-subject')),
      [],
    );
    assert.deepEqual(
      upstream.requests.flatMap((request) => request.all('authorization')),
      [],
    );
    assert.equal((await post('/permissive', await issue('/permissive'))).status, 200);
    assert.deepEqual(upstream.requests.at(-1)!.all('x-auth-subject'), ['alice']);
  });

  test('a missing scope: 403 insufficient_scope with all scopes that are needed', async () => {
    const answer = await post('/scopes', await issue('/scopes', 'tickets:read'));
    assert.equal(answer.status, 403);
    const challenge = String(answer.headers['www-authenticate']);
    assert.match(challenge, /^Bearer error="insufficient_scope"/);
    assert.equal(readParameter(challenge, 'scope'), 'tickets:read tickets:write');
    assert.ok(readParameter(challenge, 'resource_metadata') !== undefined);
    assert.equal(answer.json()['error'], 'insufficient_scope');
    assert.equal(upstream.headCount, 0);
    assert.equal((await post('/scopes', await issue('/scopes', 'tickets:write tickets:read other'))).status, 200);
  });

  test('required claims: one of the values, in a list too', async () => {
    assert.equal((await post('/claims', await issue('/claims', '', 'alice'))).status, 200);
    const answer = await post('/claims', await issue('/claims', '', 'bob'));
    assert.ok(answer.status === 401 || answer.status === 403, answer.body);
  });

  test('forwardToken: passed on only where it is set', async () => {
    const token = await issue('/passing');
    assert.equal((await post('/passing', token)).status, 200);
    assert.deepEqual(upstream.requests[0]!.all('authorization'), [`Bearer ${token}`]);
  });

  test('resourceMetadata: snake_case, further members pass through, and the configured URL is the audience', async () => {
    const answer = await ask(`${gateway.url}/.well-known/oauth-protected-resource/named`);
    const document = answer.json();
    assert.equal(document['resource'], 'https://mcp.example.com/tickets');
    assert.equal(document['resource_name'], 'Tickets');
    assert.deepEqual(document['scopes_supported'], ['tickets:read']);
    assert.equal(document['resource_documentation'], 'https://docs.example.com/');
    assert.deepEqual(document['extraMember'], { kept: true });
    const token = await idp.quirky.issueAccessToken({ resource: 'https://mcp.example.com/tickets' });
    assert.equal((await post('/named', token)).status, 200);
    assert.equal((await post('/named', await issue('/named'))).status, 401);
  });
});
