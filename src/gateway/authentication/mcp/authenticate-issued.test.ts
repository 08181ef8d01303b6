// The authentication step with tokens that the gateway itself has issued.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AuthenticationMode } from '../../../ir/gen/config_pb.ts';
import { createContext, createRoute, valueOf } from '../testing/auth-fixture.ts';
import { idpIssuer } from '../testing/broker-fixture.ts';
import { type IssuerOptions, TestIssuer } from '../testing/issuer-fixture.ts';
import { authenticateFor } from './authenticate-mcp.ts';

async function send(gateway: TestIssuer, token: string | undefined, authority = 'mcp.example.com') {
  const headers = token === undefined ? [] : ['authorization', `Bearer ${token}`];
  const { context } = createContext({ method: 'POST', headers, authority });
  context.route = createRoute(false);
  const verdict = await authenticateFor(context, gateway.broker.resource);
  return { verdict, context };
}

async function reasonFor(gateway: TestIssuer, token: string | undefined): Promise<string> {
  const { verdict } = await send(gateway, token);
  return verdict.kind === 'deny' ? verdict.reason : verdict.kind;
}

const strict: IssuerOptions = { message: { mode: AuthenticationMode.STRICT } };

describe('a request', () => {
  test('with an issued token passes, and again from the cache, without a question to the identity provider', async () => {
    const gateway = new TestIssuer(strict);
    const { accessToken } = await gateway.getTokens();
    const asked = gateway.idp.asked.length;
    for (let round = 0; round < 3; round += 1) {
      const { verdict, context } = await send(gateway, accessToken);
      assert.equal(verdict.kind, 'continue', JSON.stringify(verdict));
      assert.equal(context.mcp?.token?.subject, `person:${encodeURIComponent(idpIssuer)}:alice`);
    }
    assert.equal(gateway.idp.asked.length, asked);
  });

  test('from the cache is judged in one turn', async () => {
    const gateway = new TestIssuer(strict);
    const { accessToken } = await gateway.getTokens();
    await send(gateway, accessToken);
    const { context } = createContext({ method: 'POST', headers: ['authorization', `Bearer ${accessToken}`] });
    context.route = createRoute(false);
    assert.equal(authenticateFor(context, gateway.broker.resource) instanceof Promise, false);
  });

  test('with a token of the identity provider is refused, whichever it is', async () => {
    const gateway = new TestIssuer(strict);
    const seconds = gateway.broker.nowMs / 1_000;
    const claims = {
      iss: idpIssuer,
      aud: 'https://mcp.example.com/mcp',
      sub: 'alice',
      exp: seconds + 60,
      iat: seconds,
    };
    assert.equal(await reasonFor(gateway, gateway.idp.sign(claims, { typ: 'at+jwt' })), 'token_wrong_issuer');
    const own = { ...claims, iss: 'https://mcp.example.com/mcp', idp: idpIssuer };
    assert.equal(await reasonFor(gateway, gateway.idp.sign(own, { typ: 'at+jwt' })), 'token_unknown_key');
    assert.equal(await reasonFor(gateway, 'opaque-access-token'), 'token_malformed');
  });

  test('to another resource or another policy is refused', async () => {
    const gateway = new TestIssuer(strict);
    const { accessToken } = await gateway.getTokens();
    const { signingKeys } = gateway;
    const elsewhere = new TestIssuer({ ...strict, signingKeys: signingKeys!, path: '/other' });
    assert.equal(await reasonFor(elsewhere, accessToken), 'token_wrong_issuer');
    const otherIdp = { message: { mode: AuthenticationMode.STRICT, issuer: 'https://new.example.com' } };
    assert.equal(
      await reasonFor(new TestIssuer({ ...otherIdp, signingKeys: signingKeys! }), accessToken),
      'token_missing_claim',
    );
    assert.equal(await reasonFor(new TestIssuer(strict), accessToken), 'token_unknown_key');
  });

  test('with a token that has expired is told so, with where to log in', async () => {
    const gateway = new TestIssuer(strict);
    const { accessToken } = await gateway.getTokens();
    gateway.broker.nowMs += 900_000 + 60_000;
    const { verdict } = await send(gateway, accessToken);
    assert.ok(verdict.kind === 'deny');
    assert.equal(verdict.reason, 'token_expired');
    assert.match(valueOf(verdict.responseHeaders, 'www-authenticate')!, /resource_metadata=/);
  });

  test('without a scope that is required is refused', async () => {
    const gateway = new TestIssuer(strict);
    const { accessToken } = await gateway.getTokens({ scope: 'openid' });
    assert.equal(await reasonFor(gateway, accessToken), 'insufficient_scope');
  });
});

describe('without signing keys', () => {
  test('nothing passes, with or without a token, and no client is sent to log in', async () => {
    const gateway = new TestIssuer({ ...strict, signingKeys: null });
    for (const token of [undefined, 'x', (await new TestIssuer(strict).getTokens()).accessToken]) {
      const { verdict } = await send(gateway, token);
      assert.ok(verdict.kind === 'deny');
      assert.equal(verdict.reason, 'signing_key_missing');
      assert.equal(valueOf(verdict.responseHeaders, 'www-authenticate'), undefined);
      assert.notEqual(valueOf(verdict.responseHeaders, 'retry-after'), undefined);
    }
  });

  test('Permissive admits, as somebody who is not known', async () => {
    const gateway = new TestIssuer({ message: { mode: AuthenticationMode.PERMISSIVE }, signingKeys: null });
    const { verdict, context } = await send(gateway, 'x.y.z');
    assert.equal(verdict.kind, 'continue');
    assert.equal(context.mcp?.token, undefined);
  });
});
