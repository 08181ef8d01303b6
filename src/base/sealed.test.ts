import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createSealer, createSealKey, SealKeyError } from './sealed.ts';

const key = createSealKey();
const sealer = createSealer([key]);
const base64urlCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

describe('sealing', () => {
  test('whatever JSON holds comes back, compressed or not', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), fc.boolean(), (value, purpose, compress) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        assert.deepEqual(sealer.open(purpose, sealer.seal(purpose, value, { compress })), { ok: true, value: plain });
      }),
    );
  });

  test('the text is safe in URLs, headers and cookies, and says nothing of the value', () => {
    const text = sealer.seal('state', { secret: 'correct horse battery staple' });
    assert.match(text, /^[\w-]+$/);
    assert.ok(!Buffer.from(text, 'base64url').includes('horse'));
  });

  test('the same value never gives the same text', () => {
    assert.notEqual(sealer.seal('state', 1), sealer.seal('state', 1));
  });

  test('overhead is small, and compression helps where it can', () => {
    assert.ok(sealer.seal('state', '').length <= 60);
    const long = { uris: Array.from({ length: 20 }, (_, index) => `https://client.example.com/callback/${index}`) };
    const plain = sealer.seal('client', long);
    assert.ok(sealer.seal('client', long, { compress: true }).length < plain.length / 3);
    assert.equal(sealer.seal('client', 'short', { compress: true }).length, sealer.seal('client', 'short').length);
  });

  test('a value that JSON cannot hold is a mistake of the caller', () => {
    assert.throws(() => sealer.seal('state', undefined), TypeError);
    assert.throws(() => sealer.seal('state', 1, { expiresAtMs: Number.NaN }), TypeError);
  });
});

describe('opening', () => {
  test('every flipped bit is refused', () => {
    for (const compress of [false, true]) {
      const bytes = Buffer.from(
        sealer.seal('state', { user: 'alice', list: 'a'.repeat(200) }, { compress }),
        'base64url',
      );
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const changed = Buffer.from(bytes);
        changed[bit >> 3]! ^= 1 << (bit & 7);
        assert.equal(sealer.open('state', changed.toString('base64url')).ok, false, `bit ${bit}`);
      }
    }
  });

  test('every changed character is refused, also in the bits that decoders ignore', () => {
    for (const value of ['a', 'ab', 'abc']) {
      const text = sealer.seal('state', value);
      for (let index = 0; index < text.length; index += 1) {
        for (const character of `${base64urlCharacters}+/=. \n%é`) {
          if (character === text[index]) continue;
          const changed = `${text.slice(0, index)}${character}${text.slice(index + 1)}`;
          assert.equal(sealer.open('state', changed).ok, false, `${index}: ${character}`);
        }
      }
    }
  });

  test('every truncation and every addition is refused', () => {
    const text = sealer.seal('state', { user: 'alice' });
    for (let length = 0; length < text.length; length += 1) {
      assert.equal(sealer.open('state', text.slice(0, length)).ok, false);
      assert.equal(sealer.open('state', text.slice(length + 1)).ok, false);
    }
    for (const extra of ['A', '=', '==', ' ', '\n', 'AAAA']) {
      assert.equal(sealer.open('state', text + extra).ok, false);
      assert.equal(sealer.open('state', extra + text).ok, false);
    }
  });

  test('noise is refused, and never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.base64String({ minLength: 48 }), fc.uint8Array({ minLength: 40 })),
        (noise) => {
          const text = typeof noise === 'string' ? noise : Buffer.from([1, ...noise]).toString('base64url');
          assert.equal(sealer.open('state', text).ok, false);
        },
      ),
    );
    assert.deepEqual(sealer.open('state', 'A'.repeat(1_000_000)), { ok: false, problem: 'malformed' });
  });

  test('a value of another purpose is refused', () => {
    const text = sealer.seal('client', { user: 'alice' });
    assert.deepEqual(sealer.open('state', text), { ok: false, problem: 'other_purpose' });
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        fc.pre(one !== other);
        assert.equal(sealer.open(other, sealer.seal(one, 1)).ok, false);
      }),
    );
  });

  test('a purpose whose mark was rewritten is tampered with', () => {
    const bytes = Buffer.from(sealer.seal('client', 1), 'base64url');
    const mark = Buffer.from(sealer.seal('state', 1), 'base64url').subarray(5, 7);
    mark.copy(bytes, 5);
    assert.deepEqual(sealer.open('state', bytes.toString('base64url')), { ok: false, problem: 'tampered' });
  });

  test('a value is good up to its expiry and not at it', () => {
    let now = 1_000_000;
    const timed = createSealer([key], () => now);
    const text = timed.seal('state', 'x', { expiresAtMs: 1_000_500 });
    now = 1_000_499;
    assert.deepEqual(timed.open('state', text), { ok: true, value: 'x' });
    now = 1_000_500;
    assert.deepEqual(timed.open('state', text), { ok: false, problem: 'expired' });
    assert.deepEqual(timed.open('state', timed.seal('state', 'x', { expiresAtMs: 0 })), {
      ok: false,
      problem: 'expired',
    });
    assert.equal(timed.open('state', timed.seal('state', 'x', { expiresAtMs: 9e15 })).ok, true);
  });
});

describe('a context', () => {
  test('is needed to open what was sealed in it', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        fc.pre(one !== other);
        const text = sealer.seal('state', 1, { context: one });
        assert.deepEqual(sealer.open('state', text, one), { ok: true, value: 1 });
        assert.deepEqual(sealer.open('state', text, other), { ok: false, problem: 'tampered' });
        assert.deepEqual(sealer.open('state', text), { ok: false, problem: 'tampered' });
        assert.deepEqual(sealer.open('state', sealer.seal('state', 1), one), { ok: false, problem: 'tampered' });
      }),
    );
  });

  test('is not a part of the purpose', () => {
    const text = sealer.seal('a', 1, { context: 'b' });
    assert.equal(sealer.open('a\0b', text).ok, false);
    assert.equal(sealer.open('a', sealer.seal('a\0b', 1), 'b').ok, false);
  });
});

describe('sealing repeatably', () => {
  test('gives equal texts to equal values in one context, and to no others', () => {
    const seal = (purpose: string, value: unknown, context: string): string =>
      sealer.sealRepeatably(purpose, value, context)[0]!;
    const text = seal('member', 'a', 'set');
    assert.equal(createSealer([key]).sealRepeatably('member', 'a', 'set')[0], text);
    assert.deepEqual(sealer.open('member', text, 'set'), { ok: true, value: 'a' });
    assert.equal(sealer.open('member', text, 'other').ok, false);
    const texts = [text, seal('member', 'b', 'set'), seal('member', 'a', 'other'), seal('state', 'a', 'set')];
    // No two may share a nonce: version, key, purpose and nonce are the first 19 bytes.
    const nonces = texts.map((each) => Buffer.from(each, 'base64url').subarray(7, 19).toString('hex'));
    assert.equal(new Set(nonces).size, texts.length);
    assert.ok(!Buffer.from(text, 'base64url').includes('"a"'));
  });

  test('gives the text of every key, so that old ones are found', () => {
    const next = createSealKey();
    const [newest, older] = createSealer([next, key]).sealRepeatably('member', 'a', 'set');
    assert.equal(older, sealer.sealRepeatably('member', 'a', 'set')[0]);
    assert.deepEqual(createSealer([next]).open('member', newest!, 'set'), { ok: true, value: 'a' });
  });
});

describe('keys', () => {
  test('rotation: old values open while the old key is in any slot', () => {
    const next = createSealKey();
    const text = sealer.seal('state', 'old');
    const both = createSealer([next, key]);
    assert.deepEqual(both.open('state', text), { ok: true, value: 'old' });
    const fresh = both.seal('state', 'new');
    assert.deepEqual(createSealer([next]).open('state', fresh), { ok: true, value: 'new' });
    assert.deepEqual(createSealer([key, next]).open('state', fresh), { ok: true, value: 'new' });
    assert.deepEqual(sealer.open('state', fresh), { ok: false, problem: 'unknown_key' });
    assert.deepEqual(createSealer([next]).open('state', text), { ok: false, problem: 'unknown_key' });
  });

  test('two gateways with the same key understand each other', () => {
    assert.deepEqual(createSealer([Uint8Array.from(key)]).open('state', sealer.seal('state', 1)), {
      ok: true,
      value: 1,
    });
  });

  test('keys are 32 bytes, and there is no default', () => {
    assert.equal(createSealKey().length, 32);
    assert.notDeepEqual(createSealKey(), createSealKey());
    assert.throws(() => createSealer([]), SealKeyError);
    assert.throws(() => createSealer([key, new Uint8Array(16)]), SealKeyError);
    assert.throws(() => createSealer([new Uint8Array(33)]), { code: 'seal_key_invalid' });
  });

  test('a key that is changed after the sealer was made changes nothing', () => {
    const own = createSealKey();
    const text = createSealer([own]).seal('state', 1);
    const other = createSealer([own]);
    const copy = Uint8Array.from(own);
    own.fill(0);
    assert.equal(other.open('state', text).ok, true);
    assert.equal(createSealer([copy]).open('state', other.seal('state', 2)).ok, true);
  });
});
