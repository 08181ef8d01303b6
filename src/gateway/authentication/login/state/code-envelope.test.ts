import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSealer, createSealKey } from '../../../../base/sealed.ts';
import { digestClientId } from './client-envelope.ts';
import { type IssuedCode, openCode, openRefreshToken, sealCode, sealRefreshToken } from './code-envelope.ts';
import {
  openConsent,
  openLoginState,
  sealConsent,
  sealLoginState,
  type LoginTransaction,
} from './transaction-state.ts';

const place = { issuer: 'https://idp.example.com', resource: 'https://mcp.example.com/mcp' };
const issued: IssuedCode = {
  code: 'idp-code',
  redirectUri: 'http://127.0.0.1:1/cb',
  challenge: 'x'.repeat(43),
  resource: place.resource,
  scope: 'openid',
  idpClient: { clientId: 'c', authMethod: 'client_secret_post', secret: 's' },
};

describe('codes and refresh tokens', () => {
  let now = Date.UTC(2026, 0, 1);
  const sealer = createSealer([createSealKey()], () => now);

  test('come back to the client that they were issued to', () => {
    const code = sealCode(sealer, place, digestClientId('me'), issued, now);
    assert.deepEqual(openCode(sealer, place, 'me', code), { ok: true, grant: issued });
    const refresh = sealRefreshToken(sealer, place, 'me', { token: 'r', resource: undefined, idpClient: undefined });
    assert.deepEqual(openRefreshToken(sealer, place, 'me', refresh), { ok: true, grant: { token: 'r' } });
  });

  test('are refused for another client, at another resource, and as one another', () => {
    const code = sealCode(sealer, place, digestClientId('me'), issued, now);
    const refresh = sealRefreshToken(sealer, place, 'me', { token: 'r', resource: undefined, idpClient: undefined });
    const elsewhere = { ...place, resource: 'https://mcp.example.com/b' };
    assert.deepEqual(openCode(sealer, place, 'you', code), { ok: false, problem: 'other_client' });
    assert.deepEqual(openRefreshToken(sealer, place, 'you', refresh), { ok: false, problem: 'other_client' });
    assert.deepEqual(openCode(sealer, elsewhere, 'me', code), { ok: false, problem: 'elsewhere' });
    assert.deepEqual(openCode(sealer, place, 'me', refresh), { ok: false, problem: 'other_purpose' });
    assert.deepEqual(openRefreshToken(sealer, place, 'me', code), { ok: false, problem: 'other_purpose' });
    assert.deepEqual(openCode(sealer, place, 'me', 'idp-code'), { ok: false, problem: 'malformed' });
  });

  test('codes end after ten minutes, refresh tokens when the IdP says so', () => {
    const code = sealCode(sealer, place, digestClientId('me'), issued, now);
    const refresh = sealRefreshToken(sealer, place, 'me', { token: 'r', resource: undefined, idpClient: undefined });
    now += 600_000;
    assert.deepEqual(openCode(sealer, place, 'me', code), { ok: false, problem: 'expired' });
    now += 400 * 86_400_000;
    assert.equal(openRefreshToken(sealer, place, 'me', refresh).ok, true);
  });
});

describe('a login in progress', () => {
  let now = Date.UTC(2026, 0, 1);
  const sealer = createSealer([createSealKey()], () => now);
  const login: LoginTransaction = {
    clientDigest: digestClientId('me'),
    redirectUri: 'http://127.0.0.1:1/cb',
    clientState: 'their state',
    challenge: 'x'.repeat(43),
    scope: 'openid a',
    isScopeAsAsked: true,
    resource: place.resource,
    binding: { id: 'abcdefgh', digest: 'y'.repeat(22) },
    isRoot: true,
    expectsIssuer: false,
    idpClient: undefined,
  };

  test('comes back as it was', () => {
    const variants: readonly LoginTransaction[] = [
      login,
      { ...login, clientState: undefined, scope: '', resource: undefined, isRoot: false },
      { ...login, isScopeAsAsked: false, expectsIssuer: true, idpClient: issued.idpClient },
    ];
    for (const each of variants)
      assert.deepEqual(openLoginState(sealer, place, sealLoginState(sealer, place, each, now)), {
        ok: true,
        transaction: each,
      });
    const consent = {
      ...login,
      passedOn: { prompt: 'login' },
      consentClient: issued.idpClient,
    };
    assert.deepEqual(openConsent(sealer, place, sealConsent(sealer, place, consent, now)), {
      ok: true,
      transaction: consent,
    });
  });

  test('that waits for consent is no login yet', () => {
    const consent = sealConsent(sealer, place, { ...login, passedOn: {}, consentClient: undefined }, now);
    assert.deepEqual(openLoginState(sealer, place, consent), { ok: false, problem: 'other_purpose' });
    assert.deepEqual(openConsent(sealer, place, sealLoginState(sealer, place, login, now)), {
      ok: false,
      problem: 'other_purpose',
    });
  });

  test('ends after ten minutes, and is good for one resource', () => {
    const state = sealLoginState(sealer, place, login, now);
    assert.deepEqual(openLoginState(sealer, { ...place, issuer: 'https://other' }, state), {
      ok: false,
      problem: 'elsewhere',
    });
    now += 600_000;
    assert.deepEqual(openLoginState(sealer, place, state), { ok: false, problem: 'expired' });
  });

  test('fits into the URL of any IdP', () => {
    assert.ok(sealLoginState(sealer, place, login, now).length < 600);
  });
});
