import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome } from '../../../../base/fetch-json.ts';
import { answerJson } from '../../testing/broker-fixture.ts';
import { TestProvider } from '../../testing/identity-fixture.ts';
import { github } from './github.ts';

const api = 'https://api.github.com/user';
const emailsUrl = `${api}/emails?per_page=100&page=1`;
const orgsUrl = `${api}/orgs?per_page=100&page=1`;
const user = {
  id: 583_231,
  login: 'octocat',
  name: 'Mona',
  email: 'public@example.com',
  avatar_url: 'https://a.example/1',
};
const emails = [
  { email: 'old@example.com', primary: false, verified: true },
  { email: 'Mona@Example.com', primary: true, verified: true, visibility: null },
];

function create(
  answers: Readonly<Record<string, FetchOutcome>>,
  options: ConstructorParameters<typeof TestProvider>[0] = {},
) {
  return new TestProvider({
    preset: github,
    issuer: 'https://github.com',
    metadata: { userinfo_endpoint: api },
    answers: { [api]: answerJson(user), ...answers },
    ...options,
  });
}

describe('GitHub: who somebody is', () => {
  test('the number is the subject, and nothing is asked that nobody wants', async () => {
    const provider = create({}, { tokenClaims: ['preferred_username', 'name', 'picture'] });
    assert.deepEqual(await provider.resolve({}), {
      kind: 'person',
      person: {
        subject: '583231',
        claims: { preferred_username: 'octocat', name: 'Mona', picture: 'https://a.example/1' },
        email: undefined,
        organizations: [],
        userName: 'octocat',
      },
    });
    assert.deepEqual(
      provider.fetched.map(({ url }) => url),
      [api],
    );
  });

  test('a subject that is no number is refused', async () => {
    for (const id of ['583231', null, 1.5, undefined])
      assert.equal((await create({ [api]: answerJson({ ...user, id }) }).resolve({})).kind, 'refused');
  });

  test('the email is the primary one, if verified; never that of the profile', async () => {
    const identity = { allow: { domains: ['example.com'] } };
    const ask = async (list: unknown) =>
      create({ [emailsUrl]: answerJson(list) }, { identity, tokenClaims: ['email'] }).resolve({});
    const outcome = await ask(emails);
    assert.deepEqual(outcome.kind === 'person' && outcome.person.claims, { email: 'mona@example.com' });
    for (const list of [
      [],
      [emails[0]],
      [{ ...emails[1], verified: false }],
      [null, 'x', { primary: true, verified: true }],
    ])
      assert.equal((await ask(list)).kind, 'refused', JSON.stringify(list));
  });

  test('organizations by their logins', async () => {
    const orgs = answerJson([{ login: 'Acme' }, { login: 7 }, null, { login: 'other' }]);
    const identity = { allow: { organizations: ['acme'] } };
    const provider = create({ [orgsUrl]: orgs }, { identity, tokenClaims: ['groups'] });
    const outcome = await provider.resolve({});
    assert.deepEqual(outcome.kind === 'person' && outcome.person.claims, { groups: ['Acme', 'other'] });
    assert.equal((await create({ [orgsUrl]: answerJson([]) }, { identity }).resolve({})).kind, 'refused');
  });

  test('401 ends the session; 403 and 429 are limits, which pass', async () => {
    const answer = (status: number) =>
      answerJson({ message: 'API rate limit exceeded' }, status, { 'retry-after': '60' });
    const refresh = { nonce: undefined, expectedSubject: '583231' };
    assert.equal((await create({ [api]: answer(401) }).resolve({}, refresh)).kind, 'refused');
    for (const status of [403, 429])
      assert.deepEqual(await create({ [api]: answer(status) }).resolve({}, refresh), {
        kind: 'unavailable',
        detail: `${api} answers ${status}: "API rate limit exceeded"`,
        retryAfterSeconds: 60,
      });
    const identity = { allow: { domains: ['example.com'] } };
    assert.equal((await create({ [emailsUrl]: answer(403) }, { identity }).resolve({})).kind, 'unavailable');
  });

  test('an account that became another one is refused', async () => {
    const outcome = await create({}).resolve({}, { nonce: undefined, expectedSubject: '1' });
    assert.equal(outcome.kind, 'refused');
  });

  test('GitHub Enterprise Server: lists are beside userinfo of the policy', async () => {
    const own = 'https://ghe.example.com/api/v3/user';
    const provider = create(
      { [own]: answerJson(user), [`${own}/emails?per_page=100&page=1`]: answerJson(emails) },
      {
        issuer: 'https://ghe.example.com',
        metadata: { userinfo_endpoint: own },
        tokenClaims: ['email'],
        answers: { [own]: answerJson(user), [`${own}/emails?per_page=100&page=1`]: answerJson(emails) },
      },
    );
    const outcome = await provider.resolve({});
    assert.equal(outcome.kind === 'person' && outcome.person.email, 'mona@example.com');
  });
});
