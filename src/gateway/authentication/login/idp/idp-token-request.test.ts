import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FetchOutcome } from '../../../../base/fetch-json.ts';
import { type ProviderPreset, standardPreset } from '../../../config/provider-preset.ts';
import { answerJson, TestBroker } from '../../testing/broker-fixture.ts';
import { github } from './github.ts';
import { type IdpTokenOutcome, requestIdpTokens } from './idp-token-request.ts';

async function ask(answer: FetchOutcome, preset: ProviderPreset = github): Promise<IdpTokenOutcome> {
  const broker = new TestBroker({ preset, fetch: () => answer });
  const state = await broker.config.idp.getMetadata();
  assert.ok(state.ok);
  const client = { clientId: 'gateway', secret: 'secret', authMethod: 'client_secret_post' as const };
  const form = { grant_type: 'authorization_code', code: 'c' };
  return requestIdpTokens({ resource: broker.resource, now: Date.now }, state.metadata, form, client);
}

test('GitHub: errors with status 200 get the names of RFC 6749, and keep their own for the operator', async () => {
  const meanings = {
    bad_verification_code: 'invalid_grant',
    bad_refresh_token: 'invalid_grant',
    incorrect_client_credentials: 'invalid_client',
    redirect_uri_mismatch: 'invalid_client',
    unverified_user_email: 'access_denied',
  };
  for (const [error, meaning] of Object.entries(meanings))
    assert.deepEqual(await ask(answerJson({ error, error_description: 'Why.', error_uri: 'https://x' })), {
      kind: 'refused',
      status: 200,
      error: meaning,
      description: `${error}: Why.`,
    });
  assert.deepEqual(await ask(answerJson({ error: 'bad_verification_code' })), {
    kind: 'refused',
    status: 200,
    error: 'invalid_grant',
    description: 'bad_verification_code: no description',
  });
});

test('errors that the preset does not know stay as they are', async () => {
  for (const error of ['unsupported_grant_type', 'constructor', '__proto__']) {
    const outcome = await ask(answerJson(JSON.parse(`{"error":${JSON.stringify(error)}}`)));
    assert.equal(outcome.kind === 'refused' && outcome.error, error);
  }
  const outcome = await ask(answerJson({ error: 'bad_verification_code' }), standardPreset);
  assert.equal(outcome.kind === 'refused' && outcome.error, 'bad_verification_code');
});

test('GitHub: 403 is a limit; elsewhere it is a refusal', async () => {
  assert.deepEqual(await ask(answerJson({ message: 'rate limit' }, 403, { 'retry-after': '30' })), {
    kind: 'unavailable',
    detail: 'the token endpoint answered 403',
    retryAfterSeconds: 30,
  });
  assert.equal((await ask(answerJson({}, 403), standardPreset)).kind, 'refused');
  for (const status of [408, 429, 500, 503]) assert.equal((await ask(answerJson({}, status))).kind, 'unavailable');
});

test('what is no answer of OAuth is marked: a redirect, a page, nothing', async () => {
  const isForeign = async (answer: FetchOutcome): Promise<boolean> => {
    const outcome = await ask(answer, standardPreset);
    return outcome.kind === 'refused' && outcome.isForeign === true;
  };
  const page = { ok: true, status: 404, headers: new Map(), body: '<h1>Not here</h1>' } as const;
  assert.equal(await isForeign(page), true);
  assert.equal(await isForeign({ ...page, status: 400, body: '' }), true);
  assert.equal(await isForeign({ ok: false, code: 'redirect', message: 'a redirect' }), true);
  assert.equal(await isForeign(answerJson({ message: 'no' }, 400)), false);
  assert.equal(await isForeign(answerJson({ error: 'invalid_grant' }, 400)), false);
});
