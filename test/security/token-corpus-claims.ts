// Hostile tokens: claims of odd types and near misses. All with a good signature.
import type { AcceptableToken, CorpusPolicy, HostileToken } from './token-corpus-entry.ts';
import { audience, forgeLike, goodClaims, issuer } from './token-corpus-issuer.ts';

type ClaimCase = [name: string, value: unknown, reason: HostileToken['reason']];

export function createClaimTokens(nowSeconds: number): HostileToken[] {
  return [
    ...createForClaim(nowSeconds, 'exp', listExpiries(nowSeconds)),
    ...createRawExpiries(nowSeconds),
    ...(['nbf', 'iat'] as const).flatMap((name) => createForClaim(nowSeconds, name, listStarts(nowSeconds))),
    ...createForClaim(nowSeconds, 'aud', listAudiences()),
    ...createForClaim(nowSeconds, 'iss', listIssuers()),
    ...createForClaim(nowSeconds, 'typ', [['ID, which makes it an ID token', 'ID', 'token_is_id_token']]),
    ...createForClaim(nowSeconds, 'c_hash', listCodeHashes()),
    ...createForClaim(nowSeconds, 'tenant', listTenants(), 'required-claim'),
    ...createScopeTokens(nowSeconds),
    {
      name: 'exp 60 s ago, which is as far as the skew goes',
      token: forgeLike(nowSeconds, { claims: { ...goodClaims(nowSeconds), exp: nowSeconds - 60 } }),
      reason: 'token_expired',
    },
    ...(['nbf', 'iat'] as const).map((name): HostileToken => ({
      name: `${name} 61 s ahead, one more than the skew`,
      token: forgeLike(nowSeconds, { claims: { ...goodClaims(nowSeconds), [name]: nowSeconds + 61 } }),
      reason: 'token_not_yet_valid',
      isMomentary: true,
    })),
    {
      name: 'Exp in place of exp',
      token: forgeLike(nowSeconds, { claims: { ...goodClaims(nowSeconds), exp: undefined, Exp: nowSeconds + 60 } }),
      reason: 'token_missing_claim',
    },
    {
      name: 'exp in the header only',
      token: forgeLike(nowSeconds, {
        header: { alg: 'ES256', kid: 'ec', exp: nowSeconds + 60 },
        claims: { ...goodClaims(nowSeconds), exp: undefined },
      }),
      reason: 'token_missing_claim',
    },
    {
      name: 'iss and aud in the header only (RFC 7519 5.3)',
      token: forgeLike(nowSeconds, {
        header: { alg: 'ES256', kid: 'ec', iss: issuer, aud: audience },
        claims: { ...goodClaims(nowSeconds), iss: undefined, aud: undefined },
      }),
      reason: 'token_wrong_issuer',
    },
    { name: 'no claims at all', token: forgeLike(nowSeconds, { claims: {} }), reason: 'token_wrong_issuer' },
  ];
}

function createForClaim(
  nowSeconds: number,
  claim: string,
  cases: readonly ClaimCase[],
  policy: CorpusPolicy = 'several-keys',
): HostileToken[] {
  return cases.map(([name, value, reason]) => ({
    name: `${claim}: ${name}`,
    token: forgeLike(nowSeconds, { claims: { ...goodClaims(nowSeconds), [claim]: value } }),
    reason,
    policy,
  }));
}

function listExpiries(nowSeconds: number): ClaimCase[] {
  return [
    ['absent', undefined, 'token_missing_claim'],
    ['null', null, 'token_malformed'],
    ['a text of digits', String(nowSeconds + 3_600), 'token_malformed'],
    ['a date', '2099-01-01T00:00:00Z', 'token_malformed'],
    ['an empty text', '', 'token_malformed'],
    ['true', true, 'token_malformed'],
    ['false', false, 'token_malformed'],
    ['a list', [nowSeconds + 3_600], 'token_malformed'],
    ['an empty list', [], 'token_malformed'],
    ['an object', { value: nowSeconds + 3_600 }, 'token_malformed'],
    ['an object with valueOf', { valueOf: nowSeconds + 3_600 }, 'token_malformed'],
    ['later than any calendar', 1e308, 'token_malformed'],
    ['just later than any calendar', 8_640_000_000_001, 'token_malformed'],
    ['earlier than any calendar', -1e300, 'token_malformed'],
    ['zero', 0, 'token_expired'],
    ['one', 1, 'token_expired'],
    ['less than zero', -1, 'token_expired'],
    ['a fraction', 0.5, 'token_expired'],
    ['an hour ago', nowSeconds - 3_600, 'token_expired'],
    ['an hour ago and a fraction', nowSeconds - 3_599.5, 'token_expired'],
  ];
}

/** Numbers that JavaScript does not write, but reads. */
function createRawExpiries(nowSeconds: number): HostileToken[] {
  const cases: [string, string, HostileToken['reason']][] = [
    ['1e400, more than a number can be', '1e400', 'token_malformed'],
    ['-1e400', '-1e400', 'token_malformed'],
    ['400 digits', '9'.repeat(400), 'token_malformed'],
    ['1e3, in another spelling', '1e3', 'token_expired'],
    ['-0', '-0', 'token_expired'],
    ['1e-400, less than a number can be', '1e-400', 'token_expired'],
    ['with leading zeros', `0${nowSeconds + 3_600}`, 'token_malformed'],
    ['with underscores', '9_999_999_999', 'token_malformed'],
    ['a BigInt', `${nowSeconds + 3_600}n`, 'token_malformed'],
  ];
  const claims = JSON.stringify(goodClaims(nowSeconds));
  return cases.map(([name, text, reason]) => ({
    name: `exp: ${name}`,
    token: forgeLike(nowSeconds, { claims: claims.replace(/"exp":\d+/, `"exp":${text}`) }),
    reason,
  }));
}

function listStarts(nowSeconds: number): ClaimCase[] {
  return [
    ['an hour ahead', nowSeconds + 3_600, 'token_not_yet_valid'],
    ['an hour ahead and a fraction', nowSeconds + 3_600.25, 'token_not_yet_valid'],
    ['in milliseconds', nowSeconds * 1_000, 'token_not_yet_valid'],
    ['the end of time', 8_640_000_000_000, 'token_not_yet_valid'],
    ['later than any calendar', 1e308, 'token_malformed'],
    ['earlier than any calendar', -1e308, 'token_malformed'],
    ['null', null, 'token_malformed'],
    ['a text of digits', String(nowSeconds - 10), 'token_malformed'],
    ['an empty text', '', 'token_malformed'],
    ['a date', '1999-01-01', 'token_malformed'],
    ['false', false, 'token_malformed'],
    ['true', true, 'token_malformed'],
    ['a list', [0], 'token_malformed'],
    ['an empty list', [], 'token_malformed'],
    ['an object', {}, 'token_malformed'],
  ];
}

function listAudiences(): ClaimCase[] {
  const wrong: [string, unknown][] = [
    ['absent', undefined],
    ['null', null],
    ['an empty text', ''],
    ['an empty list', []],
    ['a list with an empty text', ['']],
    ['a list of null', [null]],
    ['a number', 1],
    ['true', true],
    ['an object', { aud: audience }],
    ['an object with our name as key', { [audience]: true }],
    ['a list in a list', [[audience]]],
    ['a list of objects', [{ aud: audience }]],
    ['another', 'https://other.example.com/mcp'],
    ['a list of others', ['https://other.example.com/mcp', 'account']],
    ['ours and another in one text', `${audience} account`],
    ['another and ours in one text', `account,${audience}`],
    ['with a slash behind', `${audience}/`],
    ['cut by one', audience.slice(0, -1)],
    ['longer', `${audience}s`],
    ['a path below', `${audience}/tools`],
    ['the origin', 'https://mcp.example.com'],
    ['in upper case', audience.toUpperCase()],
    ['the host in upper case', 'https://MCP.example.com/mcp'],
    ['with the port', 'https://mcp.example.com:443/mcp'],
    ['http', 'http://mcp.example.com/mcp'],
    ['without a scheme', 'mcp.example.com/mcp'],
    ['with a query', `${audience}?x=1`],
    ['with a fragment', `${audience}#x`],
    ['with a user', 'https://mcp.example.com@attacker.example.com/mcp'],
    ['encoded', 'https://mcp.example.com/%6dcp'],
    ['with dots in the path', 'https://mcp.example.com/x/../mcp'],
    ['with NUL behind', `${audience}\u0000`],
    ['with a space behind', `${audience} `],
    ['with a line end behind', `${audience}\n`],
    ['with a look-alike letter', 'https://m\u0441p.example.com/mcp'],
    ['a star', '*'],
    ['a regular expression', '.*'],
    ['a list that looks like a text', JSON.stringify([audience])],
    ['__proto__', '__proto__'],
  ];
  return wrong.map(([name, value]) => [name, value, 'token_wrong_audience']);
}

function listIssuers(): ClaimCase[] {
  const wrong: [string, unknown][] = [
    ['absent', undefined],
    ['null', null],
    ['an empty text', ''],
    ['a number', 1],
    ['true', true],
    ['a list', [issuer]],
    ['a list of two', ['https://attacker.example.com', issuer]],
    ['an object', { iss: issuer }],
    ['an object with our name as key', { [issuer]: issuer }],
    ['another', 'https://attacker.example.com'],
    ['with a slash behind', `${issuer}/`],
    ['cut by one', issuer.slice(0, -1)],
    ['in upper case', issuer.toUpperCase()],
    ['the host in upper case', 'https://IDP.example.com'],
    ['http', 'http://idp.example.com'],
    ['with the port', `${issuer}:443`],
    ['with a path', `${issuer}/realms/other`],
    ['with a query', `${issuer}?`],
    ['with a fragment', `${issuer}#`],
    ['a host that begins with it', `${issuer}.attacker.example.com`],
    ['a user that looks like it', `${issuer}@attacker.example.com`],
    ['a host below it', 'https://sub.idp.example.com'],
    ['with a dot at the end of the host', `${issuer}.`],
    ['with a space in front', ` ${issuer}`],
    ['with a space behind', `${issuer} `],
    ['with NUL behind', `${issuer}\u0000`],
    ['with a line end behind', `${issuer}\n`],
    ['with a look-alike letter', 'https://idp.ex\u0430mple.com'],
    ['with a zero width space', 'https://idp.example\u200b.com'],
    ['with a full-width dot', 'https://idp\uff0eexample.com'],
    ['in punycode of the look-alike', 'https://idp.xn--exmple-4nf.com'],
    ['encoded', 'https://idp%2eexample.com'],
    ['with a backslash', 'https:\\\\idp.example.com'],
    ['a dot for any character', 'https://idpXexample.com'],
    ['two in one text', `${issuer} https://attacker.example.com`],
    ['a star', '*'],
    ['__proto__', '__proto__'],
  ];
  return wrong.map(([name, value]) => [name, value, 'token_wrong_issuer']);
}

function listCodeHashes(): ClaimCase[] {
  return [
    ['a hash', 'LDktKdoQak3Pk0cnXxCltA', 'token_is_id_token'],
    ['an empty text', '', 'token_is_id_token'],
    ['null', null, 'token_is_id_token'],
    ['false', false, 'token_is_id_token'],
  ];
}

/** The policy wants the claim tenant.id to be acme. */
function listTenants(): ClaimCase[] {
  const wrong: [string, unknown][] = [
    ['absent', undefined],
    ['null', null],
    ['a text', 'acme'],
    ['an empty object', {}],
    ['id of another', { id: 'acme2' }],
    ['id in upper case', { id: 'ACME' }],
    ['id with a space', { id: 'acme ' }],
    ['id null', { id: null }],
    ['id an object', { id: { acme: true } }],
    ['id a list in a list', { id: [['acme']] }],
    ['id a text that contains it', { id: 'acme,other' }],
    ['id 1', { id: 1 }],
    ['id true', { id: true }],
    ['a list of objects', [{ id: 'acme' }]],
    ['ID in place of id', { ID: 'acme' }],
  ];
  return wrong.map(([name, value]) => [name, value, 'token_missing_claim']);
}

function createScopeTokens(nowSeconds: number): HostileToken[] {
  const cases: [string, object, HostileToken['reason']][] = [
    ['longer', { scope: 'tickets:readwrite' }, 'insufficient_scope'],
    ['shorter', { scope: 'tickets' }, 'insufficient_scope'],
    ['in upper case', { scope: 'TICKETS:READ' }, 'insufficient_scope'],
    ['with a comma', { scope: 'tickets:read,tickets:write' }, 'insufficient_scope'],
    ['with a tab', { scope: 'x\ttickets:read' }, 'insufficient_scope'],
    ['with a line end', { scope: 'x\ntickets:read' }, 'insufficient_scope'],
    ['with a space of another kind', { scope: 'x\u00a0tickets:read' }, 'insufficient_scope'],
    ['a star', { scope: '*' }, 'insufficient_scope'],
    ['a pattern', { scope: 'tickets:*' }, 'insufficient_scope'],
    ['two in one entry of a list', { scope: ['tickets:read tickets:write'] }, 'insufficient_scope'],
    ['a list in a list', { scope: [['tickets:read']] }, 'insufficient_scope'],
    ['an empty text', { scope: '' }, 'insufficient_scope'],
    ['an empty list', { scope: [] }, 'insufficient_scope'],
    ['another in scp', { scope: undefined, scp: 'tickets:write' }, 'insufficient_scope'],
    ['absent', { scope: undefined }, 'token_without_scopes'],
    ['null', { scope: null }, 'token_without_scopes'],
    ['true', { scope: true }, 'token_without_scopes'],
    ['a number', { scope: 1 }, 'token_without_scopes'],
    ['an object', { scope: { 'tickets:read': true } }, 'token_without_scopes'],
    ['scopes in place of scope', { scope: undefined, scopes: 'tickets:read' }, 'token_without_scopes'],
    ['Scope in place of scope', { scope: undefined, Scope: 'tickets:read' }, 'token_without_scopes'],
  ];
  return cases.map(([name, changes, reason]) => ({
    name: `scope: ${name}`,
    token: forgeLike(nowSeconds, { claims: { ...goodClaims(nowSeconds), ...changes } }),
    reason,
    policy: 'required-scope',
  }));
}

/** Odd, and allowed. */
export function createAcceptableClaims(nowSeconds: number): AcceptableToken[] {
  const claims = (changes: object): string =>
    forgeLike(nowSeconds, { claims: { ...goodClaims(nowSeconds), ...changes } });
  const numericDate = 'RFC 7519 section 2: a NumericDate is any number of seconds';
  return [
    { name: 'exp with a fraction', token: claims({ exp: nowSeconds + 60.5 }), why: numericDate },
    { name: 'exp at the end of the year 9999', token: claims({ exp: 253_402_300_799 }), why: numericDate },
    {
      name: 'exp in milliseconds',
      token: claims({ exp: nowSeconds * 1_000 }),
      why: `${numericDate}; the issuer said so`,
    },
    { name: 'nbf before 1970', token: claims({ nbf: -1 }), why: numericDate },
    { name: 'iat of 1970', token: claims({ iat: 0 }), why: `${numericDate}; old is not wrong while exp holds` },
    { name: 'no iat', token: claims({ iat: undefined }), why: 'RFC 7519 4.1.6: optional' },
    { name: 'aud in a list with others', token: claims({ aud: ['account', audience] }), why: 'RFC 7519 4.1.3' },
    {
      name: 'aud in a list with things that are none',
      token: claims({ aud: [1, null, audience] }),
      why: 'what is not a text is no audience; ours is named',
    },
    {
      name: 'no sub',
      token: claims({ sub: undefined }),
      why: 'RFC 7519 4.1.2: optional; who needs it refuses (missing_subject)',
    },
    { name: 'sub a number', token: claims({ sub: 7 }), why: 'is no subject: the verified token has none' },
    { name: 'sub a list', token: claims({ sub: ['alice'] }), why: 'is no subject: the verified token has none' },
    { name: 'sub __proto__', token: claims({ sub: '__proto__' }), why: 'a text like any other' },
    { name: 'at_hash and nonce', token: claims({ at_hash: 'x', nonce: 'y' }), why: 'real access tokens have them' },
    {
      name: 'tenant.id in a list',
      token: claims({ tenant: { id: ['other', 'acme'] } }),
      why: 'one of the list is enough',
      policy: 'required-claim',
    },
    {
      name: 'a claim that is called tenant.id',
      token: claims({ tenant: undefined, 'tenant.id': 'acme' }),
      why: 'claims may have dots in their names',
      policy: 'required-claim',
    },
  ];
}
