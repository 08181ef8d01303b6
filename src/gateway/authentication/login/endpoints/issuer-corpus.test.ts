// Mutated access tokens, codes and refresh tokens of the flow Issuer: none is accepted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { effort } from '../../../../../test/kit/effort.ts';
import { createSealer, createSealKey } from '../../../../base/sealed.ts';
import { createMemoryStore } from '../../../../store/memory-store.ts';
import { resourceUrl } from '../../testing/broker-fixture.ts';
import { arrangeKeys, createTestKey, TestIssuer } from '../../testing/issuer-fixture.ts';
import { createSealedGrants } from '../issuer/grants/sealed-grants.ts';
import { createStoredGrants } from '../issuer/grants/stored-grants.ts';
import { createIssuedTokens, recallIssued, validateIssued } from '../issuer/issued-token-validator.ts';
import { createClaims, signToken } from '../issuer/sign-token.ts';
import { digestClientId } from '../state/client-envelope.ts';
import { openCode, sealCode } from '../state/code-envelope.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. \u00e9\u0000'.split('');

/** A change of a text: something replaced, inserted, cut out, doubled, turned round, or taken from another text. */
const mutation = fc.record({
  kind: fc.constantFrom('replace', 'insert', 'remove', 'truncate', 'double', 'swap', 'case', 'splice', 'pad'),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  length: fc.integer({ min: 1, max: 12 }),
  text: fc.array(fc.constantFrom(...alphabet), { minLength: 1, maxLength: 12 }).map((all) => all.join('')),
});

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

function mutate(text: string, other: string, { kind, at, length, text: added }: Mutation): string {
  const place = Math.floor(at * text.length);
  const [before, after] = [text.slice(0, place), text.slice(place)];
  switch (kind) {
    case 'replace':
      return `${before}${added}${after.slice(added.length)}`;
    case 'insert':
      return `${before}${added}${after}`;
    case 'remove':
      return `${before}${after.slice(length)}`;
    case 'truncate':
      return before;
    case 'double':
      return `${before}${after.slice(0, length)}${after}`;
    case 'swap':
      return `${before}${after.slice(0, length).split('').toReversed().join('')}${after.slice(length)}`;
    case 'case':
      return `${before}${after.slice(0, length).replaceAll(/[a-z]|[A-Z]/g, (each) => (each < 'a' ? each.toLowerCase() : each.toUpperCase()))}${after.slice(length)}`;
    case 'splice':
      return `${before}${other.slice(place)}`;
    case 'pad':
      return `${text}${'='.repeat(length)}`;
  }
}

const cases = effort(100_000, 1_000);
const nowMs = Date.UTC(2026, 0, 1);
const place = { issuer: 'https://idp.example.com', resource: resourceUrl };

test('no mutated access token is accepted', async () => {
  const key = createTestKey();
  const options = {
    signingKeys: arrangeKeys(key),
    idp: place.issuer,
    clockSkewMs: 0,
    requiredClaims: [],
    now: () => nowMs,
  };
  const { validator } = createIssuedTokens(options);
  const tokens = ['alice', 'bob'].map((subject) =>
    signToken(key, {
      ...createClaims({
        issuer: resourceUrl,
        resource: resourceUrl,
        clientId: 'client',
        idp: place.issuer,
        person: { subject, claims: {}, email: undefined, organizations: [] },
        claims: [],
        issuedAtMs: nowMs,
        lifetimeMs: 900_000,
      }),
      scope: 'tickets',
    }),
  );
  const judge = async (text: string): Promise<boolean> =>
    (
      await (recallIssued(validator, text, [resourceUrl], [resourceUrl]) ??
        validateIssued(validator, text, [resourceUrl], [resourceUrl]))
    ).ok;
  for (const token of tokens) assert.equal(await judge(token), true);
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 1 }), mutation, async (index, change) => {
      const mutated = mutate(tokens[index]!, tokens[1 - index]!, change);
      if (!tokens.includes(mutated)) assert.equal(await judge(mutated), false, mutated);
    }),
    { numRuns: cases },
  );
});

test('no mutated code is accepted', () => {
  const sealer = createSealer([createSealKey()], () => nowMs);
  const issued = {
    redirectUri: 'https://a.example/cb',
    challenge: 'x',
    resource: undefined,
    scope: 'tickets',
    nonce: 'n',
  };
  const codes = ['one', 'two'].map((code) =>
    sealCode(sealer, place, digestClientId('client'), { ...issued, code, idpClient: undefined }, nowMs),
  );
  for (const code of codes) assert.equal(openCode(sealer, place, 'client', code).ok, true);
  fc.assert(
    fc.property(fc.nat({ max: 1 }), mutation, (index, change) => {
      const mutated = mutate(codes[index]!, codes[1 - index]!, change);
      if (!codes.includes(mutated)) assert.equal(openCode(sealer, place, 'client', mutated).ok, false, mutated);
    }),
    { numRuns: cases },
  );
});

test('no mutated refresh token is accepted', async () => {
  const sealer = createSealer([createSealKey()], () => nowMs);
  const clock = { now: () => nowMs, setTimer: () => () => {} };
  const store = { ...createMemoryStore({ now: () => nowMs }), reach: 'shared' as const };
  const presenter = { clientDigest: digestClientId('client'), place: 'place' };
  for (const grants of [createSealedGrants(sealer), createStoredGrants({ store, sealer, clock })]) {
    const begin = async (family: string): Promise<string> => {
      const begun = await grants.begin({
        ...presenter,
        family,
        subject: 'alice',
        idp: place.issuer,
        credential: { kind: 'refresh_token', token: 'r' },
        scope: '',
        resource: resourceUrl,
        clientName: undefined,
        userName: undefined,
        startedAtMs: nowMs,
        expiresAtMs: nowMs + 1_000,
      });
      assert.ok(begun.ok);
      return begun.refreshToken;
    };
    const tokens = [await begin('a'), await begin('b')];
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 1 }), mutation, async (index, change) => {
        const mutated = mutate(tokens[index]!, tokens[1 - index]!, change);
        if (tokens.includes(mutated)) return;
        assert.deepEqual(await grants.present(mutated, presenter), { kind: 'refused', problem: 'unknown' }, mutated);
        assert.deepEqual(await grants.revoke(mutated, presenter), { ok: true, value: false });
      }),
      { numRuns: cases },
    );
    for (const token of tokens) assert.equal((await grants.present(token, presenter)).kind, 'grant');
  }
});

test('no mutated code or refresh token reaches the identity provider', async () => {
  const gateway = new TestIssuer();
  const { redeem, clientId } = await gateway.logIn();
  const code = redeem['code']!;
  // Requests are limited per address and minute.
  await fc.assert(
    fc.asyncProperty(mutation, async (change) => {
      const mutated = mutate(code, clientId, change);
      if (mutated === code || mutated === '') return;
      const answers = [
        await gateway.ask({ ...redeem, code: mutated }),
        await gateway.refresh({ clientId, refreshToken: mutated }),
      ];
      for (const { status } of answers) assert.equal(status, 400);
    }),
    { numRuns: 200 },
  );
  assert.equal(gateway.idp.asked.length, 0);
});
