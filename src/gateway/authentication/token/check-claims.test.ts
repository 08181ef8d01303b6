import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  checkAudience,
  checkExpiry,
  checkIssuer,
  checkKind,
  checkRequiredClaims,
  checkScopes,
  checkStart,
  readAudiences,
  readScopes,
} from './check-claims.ts';
import { readClaim } from './read-claim.ts';
import type { TokenRefusal } from './verified-token.ts';

const nowMs = 1_800_000_000_000;
const nowSeconds = nowMs / 1_000;
const rules = { nowMs, clockSkewMs: 60_000 };

function reasonOf(result: { readonly ok: true } | TokenRefusal | undefined): string {
  if (result === undefined || result.ok) return 'ok';
  assert.match(result.detail, /^[\x20-\x7e]+$/);
  assert.doesNotMatch(result.detail, /["\\=]/);
  return result.reason;
}

describe('iss', () => {
  const accepts = (found: string): boolean => found === 'https://idp.example.com';
  for (const [iss, expected] of [
    ['https://idp.example.com', 'ok'],
    ['https://idp.example.com/', 'token_wrong_issuer'],
    ['https://IDP.example.com', 'token_wrong_issuer'],
    ['http://idp.example.com', 'token_wrong_issuer'],
    ['', 'token_wrong_issuer'],
    [undefined, 'token_wrong_issuer'],
    [['https://idp.example.com'], 'token_wrong_issuer'],
    [{ toString: 'https://idp.example.com' }, 'token_wrong_issuer'],
  ] as const) {
    test(JSON.stringify(iss) ?? 'absent', () => assert.equal(reasonOf(checkIssuer({ iss }, accepts)), expected));
  }
});

describe('aud', () => {
  const accepted = ['https://mcp.example.com/mcp', 'api'];
  for (const [aud, expected] of [
    ['api', 'ok'],
    ['https://mcp.example.com/mcp', 'ok'],
    [['account', 'api'], 'ok'],
    [['api', 7, null], 'ok'],
    ['API', 'token_wrong_audience'],
    ['https://mcp.example.com/mcp/', 'token_wrong_audience'],
    ['https://mcp.example.com', 'token_wrong_audience'],
    ['account api', 'token_wrong_audience'],
    [['account api'], 'token_wrong_audience'],
    ['account', 'token_wrong_audience'],
    ['', 'token_wrong_audience'],
    [[], 'token_wrong_audience'],
    [[''], 'token_wrong_audience'],
    [[['api']], 'token_wrong_audience'],
    [{ api: true }, 'token_wrong_audience'],
    [null, 'token_wrong_audience'],
    [1, 'token_wrong_audience'],
    [undefined, 'token_wrong_audience'],
  ] as const) {
    test(JSON.stringify(aud) ?? 'absent', () => {
      assert.equal(reasonOf(checkAudience(readAudiences({ aud }), accepted)), expected);
    });
  }

  test('no accepted audience accepts nothing', () => {
    assert.equal(reasonOf(checkAudience(['api'], [])), 'token_wrong_audience');
    assert.equal(reasonOf(checkAudience([], [])), 'token_wrong_audience');
    assert.equal(reasonOf(checkAudience(readAudiences({ aud: '' }), [''])), 'token_wrong_audience');
  });

  test('any audience is a word of its own, and no audience of that name', () => {
    for (const found of [['api'], ['any'], []]) assert.equal(reasonOf(checkAudience(found, 'any')), 'ok');
    assert.equal(reasonOf(checkAudience(['a'], ['any'])), 'token_wrong_audience');
    assert.equal(reasonOf(checkAudience(['any'], ['any'])), 'ok');
  });
});

describe('exp', () => {
  for (const [exp, expected] of [
    [nowSeconds + 1, 'ok'],
    [nowSeconds, 'ok'],
    [nowSeconds - 59.999, 'ok'],
    [nowSeconds - 60, 'token_expired'],
    [nowSeconds - 61, 'token_expired'],
    [0, 'token_expired'],
    [-1, 'token_expired'],
    [undefined, 'token_missing_claim'],
    [null, 'token_malformed'],
    [String(nowSeconds + 1), 'token_malformed'],
    [true, 'token_malformed'],
    [[nowSeconds + 1], 'token_malformed'],
    [253_402_300_799, 'ok'],
    [8_640_000_000_000, 'ok'],
    [8_640_000_000_001, 'token_malformed'],
    [1e308, 'token_malformed'],
    [-1e308, 'token_malformed'],
  ] as const) {
    test(JSON.stringify(exp) ?? 'absent', () => assert.equal(reasonOf(checkExpiry({ exp }, rules)), expected));
  }

  test('the time is in milliseconds', () => {
    assert.deepEqual(checkExpiry({ exp: nowSeconds + 5 }, rules), { ok: true, expiresAtMs: nowMs + 5_000 });
  });

  test('without skew the second itself is too late', () => {
    const exact = { nowMs, clockSkewMs: 0 };
    assert.equal(reasonOf(checkExpiry({ exp: nowSeconds }, exact)), 'token_expired');
    assert.equal(reasonOf(checkExpiry({ exp: nowSeconds + 0.001 }, exact)), 'ok');
  });
});

for (const name of ['nbf', 'iat'] as const) {
  describe(name, () => {
    for (const [value, expected] of [
      [undefined, 'ok'],
      [nowSeconds - 1_000_000, 'ok'],
      [nowSeconds, 'ok'],
      [nowSeconds + 60, 'ok'],
      [nowSeconds + 60.5, 'token_not_yet_valid'],
      [nowSeconds * 1_000, 'token_not_yet_valid'],
      ['1', 'token_malformed'],
      [null, 'token_malformed'],
      [1e308, 'token_malformed'],
      [-1e308, 'token_malformed'],
    ] as const) {
      test(JSON.stringify(value) ?? 'absent', () => {
        assert.equal(reasonOf(checkStart({ [name]: value }, rules)), expected);
      });
    }
  });
}

describe('ID tokens', () => {
  test('by sure marks', () => {
    assert.equal(reasonOf(checkKind({ typ: 'ID' })), 'token_is_id_token');
    assert.equal(reasonOf(checkKind({ c_hash: 'x' })), 'token_is_id_token');
  });

  test('not by what real access tokens show as well', () => {
    assert.equal(reasonOf(checkKind({ at_hash: 'x', nonce: 'y', auth_time: 1, typ: 'Bearer', azp: 'client' })), 'ok');
    assert.equal(reasonOf(checkKind({ typ: 'id' })), 'ok');
    assert.equal(reasonOf(checkKind({})), 'ok');
  });
});

describe('required claims', () => {
  const claims = {
    tenant: 'acme',
    level: 3,
    staff: true,
    groups: ['dev', 'ops'],
    empty: [],
    none: null,
    realm_access: { roles: ['admin'] },
    'https://example.com/role': 'owner',
    'a.b': 'exact',
    a: { b: 'nested' },
  };
  for (const [name, values, expected] of [
    ['tenant', ['acme'], 'ok'],
    ['tenant', ['other', 'acme'], 'ok'],
    ['level', [3], 'ok'],
    ['staff', [true], 'ok'],
    ['groups', ['ops'], 'ok'],
    ['realm_access.roles', ['admin'], 'ok'],
    ['https://example.com/role', ['owner'], 'ok'],
    ['a.b', ['exact'], 'ok'],
    ['a.b', ['nested'], 'token_missing_claim'],
    ['tenant', ['Acme'], 'token_missing_claim'],
    ['tenant', ['acm'], 'token_missing_claim'],
    ['level', ['3'], 'token_missing_claim'],
    ['staff', ['true'], 'token_missing_claim'],
    ['groups', ['dev,ops'], 'token_missing_claim'],
    ['empty', ['dev'], 'token_missing_claim'],
    ['none', [undefined], 'token_missing_claim'],
    ['absent', [undefined], 'token_missing_claim'],
    ['constructor', ['x'], 'token_missing_claim'],
    ['tenant.length', [4], 'token_missing_claim'],
    ['groups.0', ['dev'], 'token_missing_claim'],
    ['realm_access.constructor', ['x'], 'token_missing_claim'],
    ['tenant', [], 'token_missing_claim'],
  ] as const) {
    test(`${name} in ${JSON.stringify(values)}: ${expected}`, () => {
      assert.equal(reasonOf(checkRequiredClaims(claims, [{ name, values }])), expected);
    });
  }

  test('all of them', () => {
    const both = [
      { name: 'tenant', values: ['acme'] },
      { name: 'level', values: [4] },
    ];
    assert.equal(reasonOf(checkRequiredClaims(claims, both)), 'token_missing_claim');
    assert.equal(reasonOf(checkRequiredClaims(claims, [])), 'ok');
  });

  test('what is required is told to the operator, not to the client', () => {
    const refusal = checkRequiredClaims(claims, [{ name: 'tenant', values: ['internal'] }]);
    assert.doesNotMatch(refusal?.detail ?? '', /tenant|internal|acme/);
    assert.match(refusal?.operatorDetail ?? '', /"tenant" is "acme"; required: \["internal"\]/);
  });

  test('prototypes hold no claims', () => {
    assert.equal(readClaim(claims, 'toString'), undefined);
    assert.equal(readClaim(claims, '__proto__'), undefined);
    assert.equal(readClaim(claims, ''), undefined);
  });
});

describe('scopes', () => {
  for (const [claims, expected] of [
    [{ scope: 'a b' }, ['a', 'b']],
    [{ scope: ['a', 'b'] }, ['a', 'b']],
    [{ scp: 'a b' }, ['a', 'b']],
    [{ scp: ['a', 'b'] }, ['a', 'b']],
    [{ scope: 'a', scp: ['b'] }, ['a', 'b']],
    [{ scope: '  a   b ' }, ['a', 'b']],
    [{ scope: '' }, []],
    [{ scope: [] }, []],
    [{ scope: ['a', 1, null, ''] }, ['a']],
    [{ scope: ['a b'] }, ['a b']],
    [{ scope: 'a,b' }, ['a,b']],
    [{ scope: 'a\tb' }, ['a\tb']],
    [{}, undefined],
    [{ scope: 1 }, undefined],
    [{ scope: { a: true } }, undefined],
    [{ scope: null }, undefined],
    [{ scopes: 'a' }, undefined],
  ] as const) {
    test(JSON.stringify(claims), () => {
      const scopes = readScopes(claims);
      assert.deepEqual(scopes === undefined ? undefined : [...scopes], expected);
    });
  }

  test('all required ones, exactly', () => {
    const has = (...names: string[]): { scopes: Set<string> } => ({ scopes: new Set(names) });
    assert.equal(reasonOf(checkScopes(has('a', 'b', 'c'), ['a', 'c'])), 'ok');
    assert.equal(reasonOf(checkScopes(has('a'), ['a', 'b'])), 'insufficient_scope');
    assert.equal(reasonOf(checkScopes(has('mcp:read'), ['mcp'])), 'insufficient_scope');
    assert.equal(reasonOf(checkScopes(has(), ['a'])), 'insufficient_scope');
    assert.equal(reasonOf(checkScopes({ scopes: undefined }, ['a'])), 'token_without_scopes');
    assert.equal(reasonOf(checkScopes({ scopes: undefined }, [])), 'ok');
  });
});
