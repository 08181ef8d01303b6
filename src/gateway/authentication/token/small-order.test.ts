import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { describe, test } from 'node:test';
import { hasSmallOrder, smallOrderPoints } from './small-order.ts';
import { createTestKey } from '../../../../test/kit/test-issuer.ts';

type Point = readonly [x: bigint, y: bigint];

/** The curves of RFC 8032: a x^2 + y^2 = 1 + d x^2 y^2 modulo p. */
const curves = {
  ed25519: { crv: 'Ed25519', p: 2n ** 255n - 19n, a: -1n, numerator: -121665n, denominator: 121666n, cofactor: 8n },
  ed448: { crv: 'Ed448', p: 2n ** 448n - 2n ** 224n - 1n, a: 1n, numerator: -39081n, denominator: 1n, cofactor: 4n },
} as const;

for (const type of ['ed25519', 'ed448'] as const) {
  const { crv, p, a, numerator, denominator, cofactor } = curves[type];
  const reduce = (value: bigint): bigint => ((value % p) + p) % p;
  const power = (base: bigint, exponent: bigint): bigint => {
    let result = 1n;
    for (let left = exponent, square = reduce(base); left > 0n; left >>= 1n, square = reduce(square * square)) {
      if (left & 1n) result = reduce(result * square);
    }
    return result;
  };
  const invert = (value: bigint): bigint => power(value, p - 2n);
  const d = reduce(numerator * invert(denominator));
  const add = ([x1, y1]: Point, [x2, y2]: Point): Point => {
    const product = reduce(d * x1 * x2 * y1 * y2);
    return [reduce((x1 * y2 + x2 * y1) * invert(1n + product)), reduce((y1 * y2 - a * x1 * x2) * invert(1n - product))];
  };
  const findRoot = (value: bigint): bigint | undefined => {
    const first = power(value, p % 8n === 5n ? (p + 3n) / 8n : (p + 1n) / 4n);
    const turned = reduce(first * power(2n, (p - 1n) / 4n));
    return [first, turned].find((root) => reduce(root * root) === reduce(value));
  };

  describe(crv, () => {
    for (const hex of smallOrderPoints[type]) {
      test(`${hex.slice(0, 8)}... has an order that divides ${cofactor}`, () => {
        const y = BigInt(`0x${Buffer.from(Buffer.from(hex, 'hex').toReversed()).toString('hex')}`);
        const x = findRoot(reduce((1n - y * y) * invert(a - d * y * y)));
        assert.ok(x !== undefined, 'it is on the curve');
        let point: Point = [x, reduce(y)];
        for (let times = 1n; times < cofactor; times *= 2n) point = add(point, point);
        assert.deepEqual(point, [0n, 1n]);
      });

      test(`${hex.slice(0, 8)}... is recognized, on both sides of the curve`, () => {
        for (const side of [0x00, 0x80]) {
          const bytes = Buffer.from(hex, 'hex');
          bytes[bytes.length - 1]! |= side;
          const key = createPublicKey({ key: { kty: 'OKP', crv, x: bytes.toString('base64url') }, format: 'jwk' });
          assert.equal(hasSmallOrder(key), true);
        }
      });
    }

    test('real keys are not', () => {
      for (let count = 0; count < 20; count += 1) {
        const { publicJwk } = createTestKey(crv);
        assert.equal(hasSmallOrder(createPublicKey({ key: publicJwk, format: 'jwk' })), false);
      }
    });
  });
}

test('keys of other types are not looked at', () => {
  const { publicJwk } = createTestKey('ES256');
  assert.equal(hasSmallOrder(createPublicKey({ key: publicJwk, format: 'jwk' })), false);
});
