import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { McpAuthenticationSchema } from '../../../../ir/gen/config_pb.ts';
import { answerJson, idpIssuer } from '../../testing/broker-fixture.ts';
import { TestProvider } from '../../testing/identity-fixture.ts';
import { entra } from '../idp/entra.ts';
import { google } from '../idp/google.ts';
import { findPreset } from '../idp/presets.ts';
import type { IdentityOutcome } from './identity-outcome.ts';

const userinfoUrl = `${idpIssuer}/userinfo`;

function personOf(outcome: IdentityOutcome) {
  if (outcome.kind !== 'person') throw new Error(JSON.stringify(outcome));
  return outcome.person;
}

function assertRefused(outcome: IdentityOutcome, detail: RegExp, reason = 'identity_invalid'): void {
  assert.equal(outcome.kind, 'refused', JSON.stringify(outcome));
  if (outcome.kind !== 'refused') return;
  assert.equal(outcome.reason, reason);
  assert.match(outcome.detail, detail);
}

describe('OpenID Connect', () => {
  test('the ID token suffices where it says everything', async () => {
    const provider = new TestProvider({
      tokenClaims: ['email', 'groups'],
      identity: { allow: { domains: ['example.com'] } },
    });
    const claims = {
      email: 'Ada@example.com',
      email_verified: true,
      groups: ['a'],
      preferred_username: 'ada',
      extra: 1,
    };
    assert.deepEqual(await provider.logIn(claims), {
      kind: 'person',
      person: {
        subject: 'alice',
        claims: { email: 'ada@example.com', groups: ['a'] },
        email: 'ada@example.com',
        organizations: ['a'],
        userName: 'ada',
      },
    });
    assert.deepEqual(provider.fetched, []);
  });

  test('userinfo says the rest, with the access token and nothing more', async () => {
    const provider = new TestProvider({
      tokenClaims: ['groups', 'name'],
      answers: { [userinfoUrl]: answerJson({ sub: 'alice', groups: ['g'], name: 'Mallory', email: 'x@example.com' }) },
    });
    const person = personOf(await provider.logIn({ name: 'Ada' }));
    assert.deepEqual(person.claims, { groups: ['g'], name: 'Ada' }, 'what is signed comes first');
    assert.equal(person.email, undefined);
    assert.equal(person.userName, 'Ada', 'an address that nobody vouches for is no name either');
    const [request] = provider.fetched;
    assert.equal(provider.fetched.length, 1);
    assert.deepEqual(request!.headers, { accept: 'application/json', authorization: 'Bearer at' });
    assert.equal(request!.method ?? 'GET', 'GET');
    assert.equal(request!.chosenBy, 'operator');
  });

  test('an identity provider without userinfo: what is missing stays away', async () => {
    const { userinfo_endpoint: _, ...metadata } = new TestProvider().metadata;
    const provider = new TestProvider({ tokenClaims: ['groups'] });
    const answer = { id_token: await provider.sign() };
    assert.deepEqual(personOf(await provider.resolve(answer, { metadata })).claims, {});
    assertRefused(await provider.resolve({}, { metadata, nonce: undefined }), /neither an ID token nor userinfo/);
  });

  test('userinfo of another subject is refused, and so is one without', async () => {
    for (const members of [{ sub: 'mallory' }, {}, { sub: null }, { sub: ['alice'] }]) {
      const provider = new TestProvider({ tokenClaims: ['groups'], answers: { [userinfoUrl]: answerJson(members) } });
      assertRefused(await provider.logIn(), /another subject than the ID token/);
    }
  });

  test('a login without an ID token is refused, whatever userinfo says', async () => {
    const provider = new TestProvider({ answers: { [userinfoUrl]: answerJson({ sub: 'alice' }) } });
    for (const answer of [{}, { id_token: '' }, { id_token: null }, { id_token: {} }])
      assertRefused(await provider.resolve(answer), /no ID token/);
    assert.deepEqual(provider.fetched, []);
  });

  test('an ID token that is wrong is refused, whatever userinfo says', async () => {
    const provider = new TestProvider({ answers: { [userinfoUrl]: answerJson({ sub: 'alice' }) } });
    assertRefused(await provider.logIn({ nonce: 'other' }), /nonce/);
    assertRefused(await provider.resolve({ id_token: 'at' }), /ID token is refused/);
    assert.deepEqual(provider.fetched, []);
  });

  test('a refresh: with an ID token, or else userinfo confirms the subject', async () => {
    const provider = new TestProvider({ answers: { [userinfoUrl]: answerJson({ sub: 'alice' }) } });
    const refresh = { nonce: undefined, expectedSubject: 'alice' };
    const answer = { id_token: await provider.sign({ nonce: undefined }) };
    assert.equal(personOf(await provider.resolve(answer, refresh)).subject, 'alice');
    assert.equal(provider.fetched.length, 0);
    assert.equal(personOf(await provider.resolve({}, refresh)).subject, 'alice');
    assert.equal(provider.fetched.length, 1);
  });

  test('a refresh that yields somebody else is refused', async () => {
    const provider = new TestProvider({ answers: { [userinfoUrl]: answerJson({ sub: 'mallory' }) } });
    const refresh = { nonce: undefined, expectedSubject: 'alice' };
    assertRefused(await provider.resolve({}, refresh), /"mallory", but "alice" logged in/);
    const answer = { id_token: await provider.sign({ sub: 'mallory', nonce: undefined }) };
    assertRefused(await provider.resolve(answer, refresh), /"mallory", but "alice"/);
  });

  test('an account that is no longer allowed gets nothing at a refresh', async () => {
    const provider = new TestProvider({ identity: { allow: { organizations: ['staff'] } } });
    const refresh = { nonce: undefined, expectedSubject: 'alice' };
    const sign = async (groups: readonly string[]) => ({ id_token: await provider.sign({ groups }) });
    assert.equal((await provider.resolve(await sign(['staff']), refresh)).kind, 'person');
    assertRefused(
      await provider.resolve(await sign(['guests']), refresh),
      /organizations \["guests"\]/,
      'identity_not_allowed',
    );
  });

  test('an email that nobody vouches for lets nobody in, and is in no claim', async () => {
    const identity = { allow: { domains: ['example.com'], emails: ['ada@example.com'] }, claims: { mail: 'email' } };
    const provider = new TestProvider({
      tokenClaims: ['email', 'email_verified'],
      identity,
      answers: { [userinfoUrl]: answerJson({ sub: 'alice', email_verified: true }) },
    });
    const email = { email: 'ada@example.com' };
    assertRefused(
      await provider.logIn({ ...email, email_verified: false }),
      /no email that the identity/,
      'identity_not_allowed',
    );
    // Userinfo vouches for an address that it does not name.
    assertRefused(await provider.logIn(email), /no email that the identity/, 'identity_not_allowed');
    const open = new TestProvider({ tokenClaims: ['email', 'email_verified'], identity: { claims: identity.claims } });
    assert.deepEqual(personOf(await open.logIn({ ...email, email_verified: false })).claims, {});
    assert.deepEqual(personOf(await open.logIn({ ...email, email_verified: true })).claims, {
      email: 'ada@example.com',
      email_verified: true,
      mail: 'ada@example.com',
    });
  });

  test('an unverified address of the ID token is asked about once more, and only then', async () => {
    const provider = new TestProvider({
      tokenClaims: ['email'],
      answers: { [userinfoUrl]: answerJson({ sub: 'alice', email: 'ada@example.com', email_verified: true }) },
    });
    assert.equal(personOf(await provider.logIn()).email, 'ada@example.com');
    assert.equal(personOf(await provider.logIn({ email: 'ada@example.com', email_verified: false })).email, undefined);
    assert.equal(provider.fetched.length, 1);
  });

  test('a subject member of the policy', async () => {
    const provider = new TestProvider({ identity: { subject: 'employee.id' } });
    assert.equal(personOf(await provider.logIn({ employee: { id: 17 } })).subject, '17');
    const { userinfo_endpoint: _, ...metadata } = provider.metadata;
    const answer = { id_token: await provider.sign({ employee: { id: 1.5 } }) };
    assertRefused(await provider.resolve(answer, { metadata }), /no subject \(employee.id\)/);
  });

  test('a subject that is too long or no text is refused', async () => {
    const provider = new TestProvider();
    assert.equal(personOf(await provider.logIn({ sub: 'x'.repeat(255) })).subject.length, 255);
    assertRefused(await provider.logIn({ sub: 'x'.repeat(256) }), /no subject \(sub\)/);
  });

  test('a claim that is too large is refused', async () => {
    const provider = new TestProvider({ tokenClaims: ['groups'] });
    assertRefused(
      await provider.logIn({ groups: Array.from({ length: 600 }, (_, index) => `group-${index}`) }),
      /4096/,
    );
  });

  test('registered claims come from the gateway only', async () => {
    const provider = new TestProvider({ identity: { claims: { iss: 'name', scope: 'name', client_id: 'name' } } });
    assert.deepEqual(personOf(await provider.logIn({ name: 'x' })).claims, {});
  });

  test('names for people are one line', async () => {
    const provider = new TestProvider();
    assert.equal(personOf(await provider.logIn({ preferred_username: 'a\nb\u202e', name: 'x' })).userName, 'a?b?');
    assert.equal(personOf(await provider.logIn({ name: 'n'.repeat(300) })).userName!.length, 203);
    assert.equal(personOf(await provider.logIn()).userName, undefined);
  });
});

describe('OAuth 2.0 by endpoints of the policy', () => {
  const endpoints = { authorization: `${idpIssuer}/a`, token: `${idpIssuer}/t`, userinfo: userinfoUrl };

  function create(members: unknown, options: ConstructorParameters<typeof TestProvider>[0] = {}) {
    return new TestProvider({
      ...options,
      message: { ...options.message, endpoints } as MessageInitShape<typeof McpAuthenticationSchema>,
      answers: { [userinfoUrl]: answerJson(members) },
    });
  }

  test('userinfo alone says who somebody is', async () => {
    const provider = create({ sub: 7, email: 'a@example.com', email_verified: true }, { tokenClaims: ['email'] });
    const person = personOf(await provider.resolve({}));
    assert.deepEqual([person.subject, person.claims], ['7', { email: 'a@example.com' }]);
    const named = create({ user: { uid: 'u1' } }, { identity: { subject: 'user.uid' } });
    assert.equal(personOf(await named.resolve({})).subject, 'u1');
  });

  test('without a subject nobody is known', async () => {
    for (const sub of ['', null, 1.5, true, {}, ['x'], 2 ** 60, '\ud800'])
      assert.notEqual((await create({ sub }).resolve({})).kind, 'person', JSON.stringify(sub));
    assertRefused(await create({ id: 'x' }).resolve({}), /no subject \(sub\)/);
  });

  test('an ID token that cannot be validated counts for nothing', async () => {
    const provider = create({ sub: 'alice' });
    const answer = { id_token: await provider.sign({ sub: 'mallory', iss: 'https://evil.example.com' }) };
    assert.equal(personOf(await provider.resolve(answer)).subject, 'alice');
  });

  test('with keys of the policy an ID token counts', async () => {
    const keys = { source: { case: 'url' as const, value: `${idpIssuer}/jwks` } };
    const provider = create({ sub: 'alice' }, { message: { keys }, tokenClaims: ['name'] });
    assert.equal(personOf(await provider.logIn({ name: 'Ada' })).claims['name'], 'Ada');
    assertRefused(await provider.logIn({ nonce: 'other' }), /nonce/);
    assert.equal(personOf(await provider.resolve({})).subject, 'alice', 'it need not be there');
  });

  test('an answer without access token says nothing', async () => {
    const provider = create({ sub: 'alice' });
    assertRefused(await provider.resolve({ access_token: '' }), /neither/);
  });
});

describe('Google', () => {
  const issuer = 'https://accounts.google.com';

  test('the Workspace is the organization', async () => {
    const provider = new TestProvider({
      preset: google,
      issuer,
      identity: { allow: { organizations: ['example.com'] } },
    });
    assert.deepEqual(personOf(await provider.logIn({ hd: 'example.com' })).organizations, ['example.com']);
    const answers = { [`${issuer}/userinfo`]: answerJson({ sub: 'alice' }) };
    const consumer = new TestProvider({
      preset: google,
      issuer,
      answers,
      identity: { allow: { organizations: ['example.com'] } },
    });
    assertRefused(
      await consumer.logIn({ email: 'a@example.com', email_verified: true }),
      /no organizations/,
      'identity_not_allowed',
    );
  });

  test('spells its issuer in two ways', async () => {
    const provider = new TestProvider({ preset: google, issuer });
    assert.equal((await provider.logIn({ iss: 'accounts.google.com' })).kind, 'person');
    assertRefused(await provider.logIn({ iss: 'http://accounts.google.com' }), /another issuer/);
    const other = new TestProvider({ preset: google, issuer: 'https://idp.example.com' });
    assertRefused(await other.logIn({ iss: 'accounts.google.com' }), /another issuer/);
  });
});

describe('GitLab', () => {
  const preset = findPreset('GitLab')!;

  test('groups are in userinfo only, and are asked for only where they are wanted', async () => {
    const answers = { [userinfoUrl]: answerJson({ sub: 'alice', groups: ['acme', 'acme/eng'] }) };
    const provider = new TestProvider({ preset, answers, identity: { allow: { organizations: ['acme/eng'] } } });
    const claims = { groups_direct: ['acme/eng'], email: 'a@example.com', email_verified: true };
    assert.deepEqual(personOf(await provider.logIn(claims)).organizations, ['acme', 'acme/eng']);
    const open = new TestProvider({ preset, answers, tokenClaims: ['email'] });
    assert.equal(personOf(await open.logIn(claims)).email, 'a@example.com');
    assert.deepEqual([provider.fetched.length, open.fetched.length], [1, 0]);
  });
});

describe('Entra', () => {
  const tid = '11111111-2222-3333-4444-555555555555';
  const oid = 'AAAAAAAA-2222-3333-4444-555555555555';
  const ids = { tid, oid, iss: `https://login.microsoftonline.com/${tid}/v2.0` };
  const own = new TestProvider({ preset: entra, issuer: ids.iss, tokenClaims: ['groups'] });
  const common = new TestProvider({
    preset: entra,
    issuer: 'https://login.microsoftonline.com/common/v2.0',
    identity: { allow: { organizations: [tid] } },
  });

  test('the subject is tenant and object, and userinfo is not asked', async () => {
    assert.equal(personOf(await own.logIn(ids)).subject, `${tid}/${oid.toLowerCase()}`);
    assert.deepEqual(own.fetched, []);
    assertRefused(await own.logIn({ ...ids, oid: undefined }), /no subject \(tid and oid\)/);
    assertRefused(await own.logIn({ ...ids, oid: 'ada@example.com' }), /no subject/);
    assertRefused(await own.resolve({}, { nonce: undefined }), /neither an ID token nor userinfo/);
  });

  test('of many tenants, those that are listed', async () => {
    assert.equal((await common.logIn(ids)).kind, 'person');
    const other = '99999999-2222-3333-4444-555555555555';
    const foreign = { tid: other, oid, iss: `https://login.microsoftonline.com/${other}/v2.0`, groups: [tid] };
    assertRefused(await common.logIn(foreign), /organizations \["9999/, 'identity_not_allowed');
    assertRefused(await common.logIn({ ...foreign, tid }), /another issuer/);
    assertRefused(await own.logIn(foreign), /another issuer/);
  });
});

test('two identity providers with the same subject are told apart by their issuer', async () => {
  const [a, b] = [new TestProvider(), new TestProvider({ issuer: 'https://other.example.com' })];
  const answer = { id_token: await a.sign() };
  assert.equal((await a.resolve(answer)).kind, 'person');
  // The same key, and still not its token.
  assertRefused(await b.resolve(answer), /another issuer/);
});
