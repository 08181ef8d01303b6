// The identity provider's keys and metadata while traffic flows: rotated, down, slow, wrong, never there. Each says how many requests may be lost: none.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Pool } from 'undici';
import { startQuirky } from '../idp/auth-setups.ts';
import { ask, listTools, postMcp } from '../idp/flow-client.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import type { Quirks } from '../idp/quirks.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';
import { waitFor } from '../kit/wait-for.ts';
import { effort } from '../kit/effort.ts';

let upstream: RecordingUpstream;
before(async () => {
  upstream = await startMcpUpstream();
});
after(() => upstream?.close());

interface Running {
  readonly idp: QuirkyIdp;
  readonly gateway: ProtectedGateway;
  readonly url: string;
  readonly issue: () => Promise<string>;
  readonly post: (token: string) => Promise<number>;
}

async function run(
  t: { after(fn: () => unknown): void },
  quirks: Partial<Quirks> = {},
  beforeStart: (idp: QuirkyIdp) => void = () => {},
): Promise<Running> {
  const { quirky: idp, authentication } = await startQuirky(quirks, {});
  t.after(() => idp.close());
  beforeStart(idp);
  const backends = [{ path: '/mcp', port: upstream.port, authentication }];
  const gateway = await startProtectedGateway({ backends });
  t.after(() => gateway.stop());
  const url = gateway.urlOf('/mcp');
  return {
    idp,
    gateway,
    url,
    issue: () => idp.issueAccessToken({ resource: url }),
    post: async (token) => (await postMcp(url, listTools, { authorization: `Bearer ${token}` })).status,
  };
}

/** Sends requests without a pause until told to stop; resolves with the statuses that were not 200. */
function keepAsking(
  url: string,
  nextToken: () => string,
): { stop(): Promise<{ sent: number; lost: number[] }>; readonly sent: number } {
  const pool = new Pool(new URL(url).origin, { connections: 4 });
  const lost: number[] = [];
  let sent = 0;
  const stop = new AbortController();
  const worker = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const answer = await pool.request({
        path: new URL(url).pathname,
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${nextToken()}` },
        body: JSON.stringify(listTools),
      });
      await answer.body.dump();
      sent += 1;
      if (answer.statusCode !== 200) lost.push(answer.statusCode);
    }
  };
  const workers = Promise.all([worker(), worker(), worker(), worker()]);
  return {
    get sent() {
      return sent;
    },
    async stop() {
      stop.abort();
      await workers;
      await pool.close();
      return { sent, lost };
    },
  };
}

test('keys are fetched when the configuration arrives, not at the first request', async (t) => {
  const { idp } = await run(t);
  await waitFor(() => idp.server.callsTo(idp.paths.jwks).length === 1);
});

test('a rotation at the identity provider loses no valid request', async (t) => {
  const { idp, url, issue, post } = await run(t);
  const old = await issue();
  assert.equal(await post(old), 200);
  let fresh = old;
  let turn = 0;
  const traffic = keepAsking(url, () => ((turn += 1) % 2 === 0 ? old : fresh));
  await waitFor(() => traffic.sent > 50);
  await idp.rotateKeys();
  fresh = await issue();
  const { sent } = traffic;
  await waitFor(() => traffic.sent > sent + 200);
  assert.deepEqual((await traffic.stop()).lost, []);
});

test('the identity provider down for the length of a test loses no request', async (t) => {
  const { idp, url, issue, post } = await run(t);
  const tokens = await Promise.all(Array.from({ length: 20 }, issue));
  assert.equal(await post(tokens[0]!), 200);
  idp.server.goDown();
  let turn = 0;
  const traffic = keepAsking(url, () => tokens[(turn += 1) % tokens.length]!);
  await waitFor(() => traffic.sent > 500);
  assert.deepEqual((await traffic.stop()).lost, []);
  idp.server.comeUp();
  assert.equal(await post(await issue()), 200);
});

test('broken or empty key sets never replace good ones', async (t) => {
  const { idp, issue, post } = await run(t);
  const good = await issue();
  assert.equal(await post(good), 200);
  const json = { 'content-type': 'application/json', 'cache-control': 'max-age=0' };
  // An unknown kid makes the gateway look again; what it finds is of no use.
  idp.quirks.jwksAnswer = { status: 200, headers: json, body: '{"keys":[]}' };
  await idp.rotateKeys();
  idp.server.forget();
  assert.equal(await post(await issue()), 401);
  assert.equal(idp.server.callsTo(idp.paths.jwks).length, 1);
  assert.equal(await post(good), 200);
});

const strangers = effort(10_000);

test(`${strangers.toLocaleString('en')} requests with unknown kids cause at most one fetch per cooldown`, async (t) => {
  const { idp, url, issue, post } = await run(t);
  const good = await issue();
  assert.equal(await post(good), 200);
  idp.server.forget();
  const [, payload = '', signature = ''] = good.split('.');
  const pool = new Pool(new URL(url).origin, { connections: 20 });
  t.after(() => pool.close());
  const statuses = new Map<number, number>();
  const started = Date.now();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < strangers) {
      next += 1;
      const head = Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid: `unknown-${next}` })).toString(
        'base64url',
      );
      const answer = await pool.request({
        path: '/mcp',
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${head}.${payload}.${signature}` },
        body: JSON.stringify(listTools),
      });
      await answer.body.dump();
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 20 }, worker));
  assert.deepEqual([...statuses], [[401, strangers]]);
  const cooldowns = Math.ceil((Date.now() - started) / 10_000);
  const fetches = idp.server.callsTo(idp.paths.jwks).length;
  assert.ok(fetches >= 1 && fetches <= cooldowns + 1, `${fetches} fetches in ${cooldowns} cooldowns`);
  assert.equal(await post(good), 200);
});

test('down at the start: 503 with Retry-After, never a pass; it heals by itself', async (t) => {
  const { idp, url, issue, post } = await run(t, {}, ({ server }) => server.goDown());
  upstream.forget();
  const good = await issue();
  for (const headers of [{}, { authorization: `Bearer ${good}` }, { authorization: 'Bearer x' }] as Record<
    string,
    string
  >[]) {
    const answer = await postMcp(url, listTools, headers);
    assert.equal(answer.status, 503, answer.body);
    assert.match(String(answer.headers['retry-after']), /^\d+$/);
    assert.equal(answer.json()['error'], 'keys_unavailable');
  }
  const metadata = await ask(new URL('/.well-known/oauth-authorization-server/mcp', url));
  assert.equal(metadata.status, 503, metadata.body);
  assert.match(String(metadata.headers['retry-after']), /^\d+$/);
  assert.equal(upstream.headCount, 0);
  idp.server.comeUp();
  await waitFor(async () => (await post(good)) === 200);
  assert.equal((await ask(new URL('/.well-known/oauth-authorization-server/mcp', url))).status, 200);
});

test('metadata stays while the identity provider is down', async (t) => {
  const { idp, url } = await run(t);
  const metadataUrl = new URL('/.well-known/oauth-authorization-server/mcp', url);
  await waitFor(async () => (await ask(metadataUrl)).status === 200);
  idp.server.goDown();
  assert.equal((await ask(metadataUrl)).status, 200);
});

describe('metadata that cannot be used: 503 and nothing passes', () => {
  const json = { 'content-type': 'application/json' };
  const wrong: Record<string, Partial<Quirks>> = {
    'another issuer': { metadataIssuer: 'https://evil.example' },
    'the issuer with a slash too many': { metadataIssuer: 'with-a-slash' },
    'a redirect': { metadataAnswer: { status: 302, headers: { location: '/elsewhere' } } },
    HTML: { metadataAnswer: { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Log in</h1>' } },
    'an array': { metadataAnswer: { status: 200, headers: json, body: '[]' } },
    nothing: { metadataAnswer: { status: 200, headers: json, body: '' } },
    '20 MB': { metadataAnswer: { status: 200, headers: json, body: `{"issuer":"${'x'.repeat(20_000_000)}"}` } },
    silence: { metadataAnswer: 'never' },
    'a 404': { metadataAnswer: { status: 404 } },
    'an authorization endpoint that is a script': {
      metadataMembers: { authorization_endpoint: 'javascript:alert(1)' },
    },
    'a token endpoint that is a file': { metadataMembers: { token_endpoint: 'file:///etc/passwd' } },
    'a key set that is a shell command': { metadataMembers: { jwks_uri: 'a:$(touch /tmp/x)' } },
    'an empty key set': { jwksAnswer: { status: 200, headers: json, body: '{"keys":[]}' } },
    'a key set in HTML': { jwksAnswer: { status: 200, body: '<h1>Hello</h1>' } },
    'a key set elsewhere': { jwksAnswer: { status: 302, headers: { location: 'http://169.254.169.254/' } } },
  };
  const idps: QuirkyIdp[] = [];
  const policies: Record<string, unknown>[] = [];
  let gateway: ProtectedGateway;
  before(async () => {
    for (const quirks of Object.values(wrong)) {
      const { quirky, authentication } = await startQuirky(quirks, {});
      if (quirks.metadataIssuer === 'with-a-slash') quirky.quirks.metadataIssuer = `${quirky.issuer}/`;
      idps.push(quirky);
      policies.push(authentication);
    }
    const backends = policies.map((authentication, index) => ({
      path: `/wrong-${index}`,
      port: upstream.port,
      authentication,
    }));
    gateway = await startProtectedGateway({ backends });
  });
  after(async () => {
    await gateway?.stop();
    await Promise.all(idps.map((idp) => idp.close()));
  });

  for (const [index, name] of Object.keys(wrong).entries()) {
    test(name, async () => {
      upstream.forget();
      const idp = idps[index]!;
      const url = gateway.urlOf(`/wrong-${index}`);
      const token = await idp.issueAccessToken({ resource: url });
      const answer = await postMcp(url, listTools, { authorization: `Bearer ${token}` });
      assert.equal(answer.status, 503, answer.body);
      assert.match(String(answer.headers['retry-after']), /^\d+$/);
      assert.equal(upstream.headCount, 0);
      if (wrong[name]!.jwksAnswer !== undefined) return;
      const metadata = await ask(`${gateway.url}/.well-known/oauth-authorization-server/wrong-${index}`);
      assert.equal(metadata.status, 503, metadata.body);
      assert.match(String(metadata.headers['retry-after']), /^\d+$/);
      assert.equal(idp.server.callsTo('/elsewhere').length, 0);
    });
  }

  test('the others are not disturbed', async (t) => {
    const { quirky: idp, authentication } = await startQuirky({}, {});
    t.after(() => idp.close());
    const good = { path: '/good', port: upstream.port, authentication };
    const bad = { path: '/bad', port: upstream.port, authentication: policies[0]! };
    const both = await startProtectedGateway({ backends: [bad, good] });
    t.after(() => both.stop());
    const token = await idp.issueAccessToken({ resource: both.urlOf('/good') });
    const answer = await postMcp(both.urlOf('/good'), listTools, { authorization: `Bearer ${token}` });
    assert.equal(answer.status, 200, answer.body);
  });
});
