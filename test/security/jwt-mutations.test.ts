// 100,000 changed tokens, and not one is let in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Algorithm } from '../../src/gateway/authentication/token/algorithms.ts';
import { createTokenValidator } from '../../src/gateway/authentication/token/create-validator.ts';
import { createInlineKeySource } from '../../src/gateway/authentication/token/key-source.ts';
import { forgeToken, signAs } from '../kit/forge-token.ts';
import { createSeededRandom } from './seeded-random.ts';
import { audience, goodClaims, issuer, keys, served, severalKeys } from './token-corpus-issuer.ts';
import { mutations } from './token-corpus-mutations.ts';
import { effort, seed } from '../kit/effort.ts';

const wanted = effort(100_000, 5_000);
const nowSeconds = 1_800_000_000;

/** Two tokens of two users for every algorithm; the shorter and cheaper ones more often. */
function createGoodTokens(): { readonly all: readonly string[]; readonly drawn: readonly string[] } {
  const all: string[] = [];
  const drawn: string[] = [];
  for (const [kid, own] of Object.entries(served) as [keyof typeof keys, readonly Algorithm[]][]) {
    for (const alg of own) {
      for (const sub of ['alice', 'bob']) {
        const token = forgeToken({
          header: { alg, kid, typ: 'at+jwt' },
          claims: { ...goodClaims(nowSeconds), sub, groups: [sub === 'alice' ? 'admins' : 'users'] },
          signer: signAs(alg, keys[kid].privateKey),
        });
        all.push(token);
        const share = kid === 'ec' || kid === 'ed' ? 20 : kid === 'ec521' || kid === 'ed448' ? 1 : 3;
        drawn.push(...Array.from({ length: share }, () => token));
      }
    }
  }
  return { all, drawn };
}

test(`${wanted} mutations of good tokens of every algorithm: none is accepted`, async (t) => {
  const { all, drawn } = createGoodTokens();
  const good = new Set(all);
  const validator = createTokenValidator({
    issuer,
    keySource: createInlineKeySource(JSON.stringify({ keys: severalKeys })),
    clockSkewMs: 60_000,
    now: () => nowSeconds * 1_000,
  });
  const assertGood = async (): Promise<void> => {
    for (const token of all) assert.equal((await validator.validate(token, [audience])).ok, true);
  };
  // Good before, so that what follows is refused for its change; good after, and remembered all the time between.
  await assertGood();
  const random = createSeededRandom(seed);
  const names = Object.keys(mutations);
  const tried = new Map<string, number>();
  const reasons = new Map<string, number>();
  let count = 0;
  while (count < wanted) {
    const name = random.pick(names);
    const token = random.pick(drawn);
    const changed = mutations[name]!(token, random, all);
    if (good.has(changed)) continue;
    count += 1;
    tried.set(name, (tried.get(name) ?? 0) + 1);
    const pending = validator.validate(changed, [audience]);
    const verdict = pending instanceof Promise ? await pending : pending;
    if (verdict.ok) assert.fail(`accepted after "${name}": ${changed}\nfrom ${token}`);
    reasons.set(verdict.reason, (reasons.get(verdict.reason) ?? 0) + 1);
  }
  await assertGood();

  assert.equal(count, wanted);
  for (const name of names) assert.ok(tried.get(name)! > wanted / 100, `${name}: ${tried.get(name)}`);
  // It would prove little if all of them failed at the first look: a good share must have reached the signature.
  assert.ok(reasons.get('token_bad_signature')! > wanted / 5, JSON.stringify([...reasons]));
  for (const reason of ['token_malformed', 'token_unsupported_algorithm', 'token_unknown_key', 'token_wrong_type']) {
    assert.ok((reasons.get(reason) ?? 0) > 0, reason);
  }
  t.diagnostic(`reasons: ${JSON.stringify(Object.fromEntries(reasons))}`);
});
