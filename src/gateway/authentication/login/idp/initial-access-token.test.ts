import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome, GuardedRequest } from '../../../../base/fetch-json.ts';
import { findPreset } from './presets.ts';
import { getInitialAccessToken, type InitialAccessToken } from './initial-access-token.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';
import { createResource } from '../../testing/auth-fixture.ts';
import { answerJson, idpMetadata } from '../../testing/broker-fixture.ts';

const okta = findPreset('Okta')!;

async function get(
  config: Partial<McpAuthenticationConfig>,
  answer?: FetchOutcome,
  methods: readonly string[] = ['client_secret_basic'],
  scope = 'client.create',
): Promise<{ readonly token: InitialAccessToken; readonly asked: readonly GuardedRequest[] }> {
  const asked: GuardedRequest[] = [];
  const resource = createResource({
    ...(answer !== undefined && {
      message: { registration: { initialAccessTokenFrom: { clientId: 'a:b', scope } } },
    }),
    config,
  });
  const idp = {
    ...resource.config.idp,
    fetcher: {
      fetch: (request: GuardedRequest) => {
        asked.push(request);
        return Promise.resolve(answer!);
      },
      close: () => Promise.resolve(),
    },
  };
  const metadata = { ...idpMetadata, token_endpoint_auth_methods_supported: methods };
  return { token: await getInitialAccessToken({ ...resource.config, idp }, metadata), asked };
}

describe('a token of the operator', () => {
  test('is sent in the scheme of the IdP', async () => {
    assert.deepEqual((await get({})).token, { ok: true, authorization: undefined });
    assert.deepEqual((await get({ initialAccessToken: 'abc\n' })).token, { ok: true, authorization: 'Bearer abc' });
    assert.deepEqual((await get({ initialAccessToken: 'abc', preset: okta })).token, {
      ok: true,
      authorization: 'SSWS abc',
    });
  });

  test('that cannot be a header is told, and not shown', async () => {
    const { token } = await get({ initialAccessToken: 'abc\r\nx: y' });
    assert.ok(!token.ok && !token.isTemporary && !token.detail.includes('abc'));
  });
});

describe('a fresh one by client credentials', () => {
  const config = { clientCredentialsSecret: 's/e+c r%et' };

  test('is asked for with Basic, encoded as RFC 6749 wants it', async () => {
    const { token, asked } = await get(config, answerJson({ access_token: 'fresh', token_type: 'Bearer' }));
    assert.deepEqual(token, { ok: true, authorization: 'Bearer fresh' });
    assert.equal(asked[0]!.url, idpMetadata.token_endpoint);
    assert.equal(asked[0]!.body, 'grant_type=client_credentials&scope=client.create');
    const basic = Buffer.from(asked[0]!.headers!['authorization']!.slice(6), 'base64').toString();
    assert.equal(basic, 'a%3Ab:s%2Fe%2Bc+r%25et');
  });

  test('or in the body where the IdP lists only that', async () => {
    const { asked } = await get(config, answerJson({ access_token: 'fresh' }), ['client_secret_post'], '');
    assert.equal(asked[0]!.headers!['authorization'], undefined);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(asked[0]!.body)), {
      grant_type: 'client_credentials',
      client_id: 'a:b',
      client_secret: 's/e+c r%et',
    });
  });

  test('failures: what trying again may mend, and what only the operator can', async () => {
    const cases: readonly (readonly [FetchOutcome, boolean])[] = [
      [answerJson({ error: 'invalid_client' }, 401), false],
      [answerJson({ error: 'invalid_scope' }, 400), false],
      [answerJson({}, 500), true],
      [{ ok: false, code: 'timeout', message: 'slow' }, true],
      [{ ok: false, code: 'redirect', message: 'login page' }, false],
      [{ ok: true, status: 200, headers: new Map(), body: '<html>' }, true],
      [answerJson({ token_type: 'Bearer' }), false],
    ];
    for (const [answer, isTemporary] of cases) {
      const { token } = await get(config, answer);
      assert.ok(!token.ok);
      assert.equal(token.isTemporary, isTemporary, token.detail);
      assert.ok(!token.detail.includes('s/e+c'));
    }
  });
});
