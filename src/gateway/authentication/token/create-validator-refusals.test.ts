import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTokenValidator } from './create-validator.ts';
import { createInlineKeySource, type KeySource, type KeyState } from './key-source.ts';
import { createTestKey, signWithJose, type TestKey } from '../../../../test/kit/test-issuer.ts';
import type { TokenValidator } from './verified-token.ts';

const issuer = 'https://idp.example.com';
const audience = 'https://mcp.example.com/mcp';
const startMs = Date.UTC(2026, 5, 1);
const claims = { iss: issuer, aud: audience, sub: 'alice', exp: startMs / 1_000 + 30 };
const real = createTestKey('ES256', { kid: 'k' });
const stranger = createTestKey('ES256', { kid: 'k' });
const good = await signWithJose(real, { alg: 'ES256', kid: 'k' }, claims);
const forged = await signWithJose(stranger, { alg: 'ES256', kid: 'k' }, claims);

function readKeys(...keys: readonly TestKey[]): Extract<KeyState, { readonly ok: true }> {
  const state = createInlineKeySource(JSON.stringify({ keys: keys.map((key) => key.publicJwk) })).getKeys();
  assert.ok(state.ok);
  return state;
}

/** An issuer whose keys the test changes. It counts how often keys are compared with a token, and how often they are asked for again. */
class TestIssuer implements KeySource {
  comparisons = 0;
  refetches = 0;
  /** What the next refetch brings. */
  fetched: KeyState | undefined;
  nowMs = startMs;
  #state: KeyState;

  constructor(...keys: readonly TestKey[]) {
    this.#state = readKeys(...keys);
  }

  publish(...keys: readonly TestKey[]): void {
    this.#state = readKeys(...keys);
  }

  getKeys(): KeyState {
    const state = this.#state;
    if (!state.ok) return state;
    const count = (): void => void (this.comparisons += 1);
    const { version, keySet } = state;
    const counted = {
      ...keySet,
      get keys() {
        count();
        return keySet.keys;
      },
    };
    return { ok: true, version, keySet: counted };
  }

  load(): undefined {}

  refetch(): Promise<void> | undefined {
    this.refetches += 1;
    const { fetched } = this;
    if (fetched === undefined) return undefined;
    this.fetched = undefined;
    return Promise.resolve().then(() => void (this.#state = fetched));
  }

  describe(): ReturnType<KeySource['describe']> {
    return { url: undefined, keys: [], ignored: [], fetchedAtMs: undefined, problem: undefined };
  }

  close(): void {}

  createValidator(): TokenValidator {
    return createTokenValidator({ issuer, keySource: this, clockSkewMs: 1_000, now: () => this.nowMs });
  }
}

async function reasonOf(validator: TokenValidator, token: string): Promise<string> {
  const verdict = await validator.validate(token, [audience]);
  return verdict.ok ? (verdict.token.subject ?? '') : verdict.reason;
}

describe('a token with a wrong signature', () => {
  test('is verified once, and the answer is the same every time, at once', () => {
    const source = new TestIssuer(real);
    const validator = source.createValidator();
    const verdicts = Array.from({ length: 5 }, () => validator.validate(forged, [audience]));
    for (const verdict of verdicts) assert.deepEqual(verdict, verdicts[0]);
    assert.ok(!(verdicts[0] instanceof Promise) && !verdicts[0]!.ok && verdicts[0]!.reason === 'token_bad_signature');
    assert.equal(source.comparisons, 1);
    assert.equal(source.refetches, 5, 'the issuer may have new keys, each time');
    assert.equal(validator.recall?.(forged, [audience]), verdicts[0]);
  });

  test('is told from a good one that differs in its last characters only', async () => {
    const validator = new TestIssuer(real).createValidator();
    const end = good.length - 3;
    const almost = `${good.slice(0, end)}${good[end] === 'A' ? 'B' : 'A'}${good.slice(end + 1)}`;
    for (let round = 0; round < 3; round += 1) {
      assert.equal(await reasonOf(validator, almost), 'token_bad_signature');
      assert.equal(await reasonOf(validator, good), 'alice');
    }
  });

  test('is verified anew under other keys, and a good one may be refused then', async () => {
    const source = new TestIssuer(real);
    const validator = source.createValidator();
    assert.equal(await reasonOf(validator, forged), 'token_bad_signature');
    source.publish(stranger);
    assert.equal(await reasonOf(validator, forged), 'alice');
    assert.equal(await reasonOf(validator, good), 'token_bad_signature');
    source.publish(real);
    assert.equal(await reasonOf(validator, good), 'alice');
    assert.equal(await reasonOf(validator, forged), 'token_bad_signature');
  });

  test('is good as soon as a refetch brings its key, also after it was refused', async () => {
    const source = new TestIssuer(real);
    const validator = source.createValidator();
    assert.equal(await reasonOf(validator, forged), 'token_bad_signature');
    source.fetched = readKeys(real);
    assert.equal(await reasonOf(validator, forged), 'token_bad_signature');
    assert.equal(source.comparisons, 1, 'the same keys say the same');
    source.fetched = readKeys(stranger);
    assert.equal(await reasonOf(validator, forged), 'alice');
  });

  test('is expired when its time is over, and verified again after a minute', async () => {
    const source = new TestIssuer(real);
    const validator = source.createValidator();
    assert.equal(await reasonOf(validator, forged), 'token_bad_signature');
    source.nowMs = startMs + 30_999;
    assert.equal(await reasonOf(validator, forged), 'token_bad_signature');
    source.nowMs = startMs + 31_000;
    assert.equal(await reasonOf(validator, forged), 'token_expired');
    const lasting = await signWithJose(stranger, { alg: 'ES256', kid: 'k' }, { ...claims, exp: startMs });
    assert.equal(await reasonOf(validator, lasting), 'token_bad_signature');
    source.nowMs += 59_999;
    assert.equal(await reasonOf(validator, lasting), 'token_bad_signature');
    assert.equal(source.comparisons, 2);
    source.nowMs += 1;
    assert.equal(await reasonOf(validator, lasting), 'token_bad_signature');
    assert.equal(source.comparisons, 3);
  });

  test('does not drive out good ones, however many there are', async () => {
    const source = new TestIssuer(real);
    const validator = source.createValidator();
    assert.equal(await reasonOf(validator, good), 'alice');
    const [head, body] = forged.split('.') as [string, string];
    for (let index = 0; index < 2_000; index += 1) {
      const signature = Buffer.alloc(64, `${index} `).toString('base64url');
      assert.equal(await reasonOf(validator, `${head}.${body}.${signature}`), 'token_bad_signature');
    }
    const before = source.comparisons;
    assert.equal(await reasonOf(validator, good), 'alice');
    assert.equal(source.comparisons, before);
  });
});

test('nothing is recalled that was not judged, nor without keys', async () => {
  // Only a few signatures are verified per turn, and tests before this one may have had them.
  await new Promise((resolve) => setImmediate(resolve));
  const source = new TestIssuer(real);
  const validator = source.createValidator();
  assert.equal(validator.recall?.(good, [audience]), undefined);
  const first = validator.validate(good, [audience]);
  const verdict = validator.recall?.(good, [audience]);
  assert.equal(verdict, first);
  assert.ok(verdict !== undefined && !(verdict instanceof Promise) && verdict.ok);
  const other = validator.recall?.(good, ['https://other.example']);
  assert.ok(other !== undefined && !(other instanceof Promise) && !other.ok);
  assert.equal(other.reason, 'token_wrong_audience');
  assert.equal(createTokenValidator({
    issuer,
    keySource: createInlineKeySource('{}'),
    clockSkewMs: 0,
  }).recall?.(good, [audience]), undefined); // prettier-ignore
});
