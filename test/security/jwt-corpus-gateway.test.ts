// The corpus of hostile tokens once more, through a real gateway: nothing of it reaches the MCP server, and clients are told why.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { reasons } from '../../src/gateway/http/reasons.ts';
import { listTools } from '../idp/flow-client.ts';
import { startSwitchableServer, type SwitchableServer } from '../idp/switchable-server.ts';
import { type GuardedGateway, routePolicy, startGuardedGateway } from './guarded-gateway.ts';
import type { CorpusPolicy, HostileToken } from './token-corpus-entry.ts';
import { audience, forgeLike, issuer, loneKey, severalKeys } from './token-corpus-issuer.ts';
import { createAcceptableTokens, createHostileTokens } from './token-corpus.ts';

const nowSeconds = Math.floor(Date.now() / 1_000);
let keyServer: SwitchableServer;
let guarded: GuardedGateway;

/** JWT authentication asks for no scopes; those tokens are for MCP authentication. */
const routes: Readonly<Partial<Record<CorpusPolicy, string>>> = {
  'several-keys': '/several',
  'lone-key': '/lone',
  'required-claim': '/claim',
};

before(async () => {
  // Over HTTP: a configuration with some of these keys in it would not be accepted.
  keyServer = await startSwitchableServer(() => (request, response) => {
    const keys = request.url === '/lone' ? [loneKey.publicJwk] : severalKeys;
    response.setHeader('content-type', 'application/jwk-set+json').end(JSON.stringify({ keys }));
  });
  const guard = (route: string, keys: string, changes: object = {}): object =>
    routePolicy(route, {
      jwtAuthentication: {
        providers: [
          { name: 'idp', issuer, audiences: [audience], jwks: { url: `${keyServer.origin}/${keys}` }, ...changes },
        ],
      },
    });
  guarded = await startGuardedGateway({
    routes: ['several', 'lone', 'claim'],
    policies: [
      guard('several', 'several'),
      guard('lone', 'lone'),
      guard('claim', 'several', { requiredClaims: { 'tenant.id': 'acme' } }),
    ],
  });
});
after(async () => {
  await guarded?.close();
  await keyServer?.close();
});

test('a good token is let in', async () => {
  guarded.upstream.forget();
  const answer = await guarded.post('/several', forgeLike(nowSeconds, {}), listTools);
  assert.equal(answer.status, 200, answer.body);
  assert.equal(guarded.upstream.headCount, 1);
});

const corpus = createHostileTokens(nowSeconds);
/** The form that RFC 6750 2.1 gives a token, in a head that is not too large. */
const isBearerToken = ({ token }: HostileToken): boolean => /^[\w\-.~+/]+=*$/.test(token) && token.length < 30_000;
const isSent = ({ policy = 'several-keys', isMomentary }: HostileToken): boolean =>
  policy in routes && isMomentary !== true;

describe('tokens that can be sent as bearer tokens are refused for the right reason', () => {
  for (const [group, tokens] of Object.entries(corpus)) {
    test(group, async () => {
      const sent = tokens.filter((entry) => isSent(entry) && isBearerToken(entry));
      assert.ok(sent.length > 20, `${sent.length} tokens`);
      guarded.upstream.forget();
      for (const entry of sent) {
        const answer = await send(entry);
        guarded.assertRefused(answer, reasons[entry.reason].status, entry.reason, entry.name);
        const challenge = String(answer.headers['www-authenticate']);
        assert.match(challenge, /^Bearer error="invalid_token", error_description="[^"]+"/, entry.name);
        const isLong = entry.token.length > 40;
        assert.equal(isLong && answer.body.includes(entry.token.slice(0, 40)), false, 'never the token');
      }
    });
  }
});

test('tokens that cannot be sent as bearer tokens are refused as well', async () => {
  const sent = Object.values(corpus)
    .flat()
    .filter((entry) => isSent(entry) && !isBearerToken(entry) && entry.token.length < 30_000)
    // White space around a value is not part of it (RFC 9110 5.5), and some bytes no header can have.
    .filter(
      ({ token }) => /^[\t\x20-\x7e\x80-\xff]*$/.test(token) && token === token.replaceAll(/^[\t ]+|[\t ]+$/g, ''),
    );
  assert.ok(sent.length > 10, `${sent.length} tokens`);
  guarded.upstream.forget();
  for (const entry of sent) {
    const answer = await send(entry);
    assert.ok([400, 401].includes(answer.status), `${entry.name}: ${answer.status} ${answer.body}`);
    assert.equal(guarded.upstream.headCount, 0, entry.name);
  }
});

test('a no-break space is no white space of HTTP: in front of a token or behind it, it is part of it', async () => {
  const good = forgeLike(nowSeconds, {});
  guarded.upstream.forget();
  for (const token of [`${good}\u00a0`, `\u00a0${good}`]) {
    const answer = await guarded.post('/several', undefined, listTools, { authorization: `Bearer ${token}` });
    assert.ok([400, 401].includes(answer.status), answer.body);
    assert.equal(guarded.upstream.headCount, 0);
  }
});

test('odd tokens that are right are let in', async () => {
  for (const entry of createAcceptableTokens(nowSeconds)) {
    const answer = await send({ ...entry, reason: 'internal_error' });
    assert.equal(answer.status, 200, `${entry.name}: ${answer.body}`);
  }
});

test('heads that are too large are refused before anybody looks for a token in them', async () => {
  guarded.upstream.forget();
  const answer = await guarded.post('/several', 'e'.repeat(100_000), listTools);
  guarded.assertRefused(answer, 431, 'headers_too_large');
});

function send({ token, policy = 'several-keys' }: HostileToken): ReturnType<GuardedGateway['post']> {
  return guarded.post(routes[policy]!, token, listTools);
}
