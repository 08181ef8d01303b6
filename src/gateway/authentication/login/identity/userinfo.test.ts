import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome } from '../../../../base/fetch-json.ts';
import { type ProviderPreset, standardPreset } from '../../../config/provider-preset.ts';
import { answerJson, idpIssuer } from '../../testing/broker-fixture.ts';
import { TestProvider } from '../../testing/identity-fixture.ts';
import { github } from '../idp/github.ts';
import { fetchUserinfo, fetchUserinfoList } from './userinfo.ts';

const url = `${idpIssuer}/userinfo`;

function ask(answer: FetchOutcome, preset: ProviderPreset = standardPreset, accessToken = 'secret-token') {
  const { config } = new TestProvider({ preset, answers: { [url]: answer } });
  return fetchUserinfo({ config, url, accessToken });
}

function answerText(body: string, type = 'application/json', status = 200): FetchOutcome {
  return { ok: true, status, headers: new Map([['content-type', type]]), body };
}

test('a JSON object', async () => {
  assert.deepEqual(await ask(answerJson({ sub: 'a' })), { kind: 'members', members: { sub: 'a' } });
});

test('who does not accept a fresh token refuses the person', async () => {
  for (const status of [400, 401, 403]) {
    const outcome = await ask(
      answerJson({ error: 'invalid_token', error_description: 'secret-token is revoked' }, status),
    );
    assert.equal(outcome.kind, 'refused');
    assert.match(
      outcome.kind === 'refused' ? outcome.detail : '',
      new RegExp(`answers ${status}: "\\[hidden\\] is revoked"$`),
    );
  }
});

describe('an identity provider that cannot answer is no reason to end a session:', () => {
  const failures = ['timeout', 'unreachable', 'redirect', 'too_large', 'broken', 'blocked'] as const;
  for (const code of failures)
    test(code, async () => {
      const outcome = await ask({ ok: false, code, message: 'why' });
      assert.deepEqual(outcome, { kind: 'unavailable', detail: `userinfo: ${code}: why`, retryAfterSeconds: 5 });
    });

  for (const status of [204, 404, 405, 408, 429, 500, 502, 503])
    test(String(status), async () => {
      const outcome = await ask(answerJson({}, status, { 'retry-after': '17' }));
      assert.equal(outcome.kind, 'unavailable');
      assert.match(outcome.kind === 'unavailable' ? outcome.detail : '', new RegExp(`answers ${status}$`));
      if (outcome.kind === 'unavailable')
        assert.equal(outcome.retryAfterSeconds, status >= 500 || status === 429 || status === 408 ? 17 : 5);
    });

  const bodies = [
    '',
    '[]',
    '"x"',
    'null',
    '{"sub":"a"',
    '{"sub":"a","sub":"b"}',
    '{"__proto__":{}}',
    '{"sub":"\\ud800"}',
  ];
  for (const body of [...bodies, `${'['.repeat(40)}${']'.repeat(40)}`])
    test(`200 with ${JSON.stringify(body)}`, async () => {
      assert.equal((await ask(answerText(body))).kind, 'unavailable');
    });

  test('400 or 403 with a page', async () => {
    const page = (status: number): FetchOutcome => ({
      ok: true,
      status,
      headers: new Map([['content-type', 'text/html']]),
      body: '<html>',
    });
    for (const status of [400, 403]) {
      assert.equal((await ask(page(status))).kind, 'unavailable');
      assert.equal((await ask(answerJson({}, status))).kind, 'refused');
    }
    assert.equal((await ask(page(401))).kind, 'refused');
  });

  test('200 with a page', async () => {
    const outcome = await ask(answerText('<html>', 'text/html; charset=utf-8'));
    assert.match(
      outcome.kind === 'unavailable' ? outcome.detail : '',
      /userinfo answers with text\/html that is not JSON$/,
    );
  });
});

test('signed userinfo is refused with the remedy', async () => {
  const outcome = await ask(answerText('a.b.c', 'application/JWT; x=y'));
  assert.match(outcome.kind === 'refused' ? outcome.detail : '', /application\/jwt.*userinfo_signed_response_alg/);
});

test('a token that would break the header is not sent', async () => {
  for (const token of ['a\r\nx: y', 'a b', 'é'])
    assert.equal((await ask(answerJson({ sub: 'a' }), standardPreset, token)).kind, 'refused');
});

test('the answer is limited in size and time', async () => {
  const provider = new TestProvider({ answers: { [url]: answerJson({}) }, message: { allowInsecureHttp: true } });
  await fetchUserinfo({ config: { ...provider.config, ca: 'PEM' }, url, accessToken: 't' });
  const [request] = provider.fetched;
  assert.deepEqual(
    [request!.maxBytes, request!.timeoutMs, request!.ca, request!.allowInsecureHttp],
    [262_144, 10_000, 'PEM', true],
  );
});

test('an address that only the metadata names is not on this machine', async () => {
  const provider = new TestProvider();
  await fetchUserinfo({ config: provider.config, url: 'http://127.0.0.1/me', accessToken: 't' });
  assert.equal(provider.fetched[0]!.chosenBy, 'provider');
  const named = new TestProvider({ message: { endpoints: { userinfo: 'http://127.0.0.1/me' } } });
  await fetchUserinfo({ config: named.config, url: 'http://127.0.0.1/me', accessToken: 't' });
  assert.equal(named.fetched[0]!.chosenBy, 'operator');
});

describe('lists', () => {
  const [, orgs] = github.identity!.lists!;
  const page = (number: number): string => `${url}/orgs?per_page=100&page=${number}`;
  const many = (count: number) => answerJson(Array.from({ length: count }, (_, index) => ({ login: `o${index}` })));

  async function list(answers: Readonly<Record<string, FetchOutcome>>) {
    const provider = new TestProvider({ preset: github, answers });
    const outcome = await fetchUserinfoList({ config: provider.config, url, accessToken: 't' }, orgs!);
    const count = outcome.kind === 'members' ? (outcome.members['organizations'] as unknown[]).length : outcome.kind;
    return [count, provider.fetched.length];
  }

  test('page by page, up to a limit', async () => {
    assert.deepEqual(await list({ [page(1)]: many(3) }), [3, 1]);
    assert.deepEqual(await list({ [page(1)]: many(100), [page(2)]: many(100), [page(3)]: many(0) }), [200, 3]);
    const full = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [page(index + 1), many(100)]));
    assert.deepEqual(await list(full), [1_000, 10]);
  });

  test('one that the scopes do not reach is empty; a failure on the way decides nothing', async () => {
    assert.deepEqual(await list({ [page(1)]: answerJson({ message: 'Not Found' }, 404) }), [0, 1]);
    assert.deepEqual(await list({ [page(1)]: many(100), [page(2)]: answerJson({}, 502) }), ['unavailable', 2]);
    assert.deepEqual(await list({ [page(1)]: answerJson({}) }), ['unavailable', 1]);
    assert.deepEqual(await list({ [page(1)]: answerJson({}, 401) }), ['refused', 1]);
  });
});
