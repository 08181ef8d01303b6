import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type BearerChallenge, findBearerChallenge, formatChallenge, parseChallenges } from './challenge.ts';
import { anyText } from '../../../test/kit/any-text.ts';

const metadata = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';

describe('formatChallenge', () => {
  test('without an error only says where to begin', () => {
    assert.equal(
      formatChallenge({ resourceMetadata: metadata, scopes: ['tickets:read', 'tickets:write'] }),
      `Bearer resource_metadata="${metadata}", scope="tickets:read tickets:write"`,
    );
    assert.equal(formatChallenge({ resourceMetadata: metadata }), `Bearer resource_metadata="${metadata}"`);
    assert.equal(formatChallenge({}), 'Bearer');
  });

  test('puts the free text last, and nothing in it that looks like a parameter', () => {
    assert.equal(
      formatChallenge({
        error: 'invalid_token',
        resourceMetadata: metadata,
        errorDescription: 'The "token" expired, scope=admin, resource_metadata="https://evil.example"\r\nX: y\\',
      }),
      `Bearer error="invalid_token", resource_metadata="${metadata}", error_description="The 'token' expired, scope:admin, resource_metadata:'https://evil.example'??X: y?"`,
    );
  });

  test('encodes what would end a quoted URL', () => {
    assert.equal(
      formatChallenge({ resourceMetadata: 'https://a/"\\é\n' }),
      'Bearer resource_metadata="https://a/%22%5C%C3%A9%0A"',
    );
  });

  test('leaves out what is no scope value', () => {
    assert.equal(formatChallenge({ scopes: ['a"b', 'c d', '', 'ok'] }), 'Bearer scope="ok"');
  });

  // Clients in use read the header with expressions like these.
  test('is read right by loose regular expressions', () => {
    const text = formatChallenge({
      error: 'insufficient_scope',
      resourceMetadata: metadata,
      scopes: ['a'],
      errorDescription: 'error="x" scope="b" resource_metadata=c',
    });
    assert.equal(/resource_metadata=(?:"([^"]+)"|([^\s,]+))/.exec(text)?.[1], metadata);
    assert.equal(/scope=(?:"([^"]+)"|([^\s,]+))/.exec(text)?.[1], 'a');
    assert.equal(/error=(?:"([^"]+)"|([^\s,]+))/.exec(text)?.[1], 'insufficient_scope');
    assert.match(text, /^Bearer /);
  });
});

describe('parseChallenges', () => {
  const read = (text: string): unknown =>
    parseChallenges(text)?.map(({ scheme, parameters, token68 }) => [scheme, Object.fromEntries(parameters), token68]);

  test('reads several challenges, in one field or several joined', () => {
    assert.deepEqual(read('Basic realm="a, b", charset="UTF-8", Bearer error="invalid_token", scope=x , Negotiate'), [
      ['Basic', { realm: 'a, b', charset: 'UTF-8' }, undefined],
      ['Bearer', { error: 'invalid_token', scope: 'x' }, undefined],
      ['Negotiate', {}, undefined],
    ]);
    assert.deepEqual(read('Negotiate YWJj==, Bearer'), [
      ['Negotiate', {}, 'YWJj=='],
      ['Bearer', {}, undefined],
    ]);
    assert.deepEqual(read(', ,Bearer  realm = "x" ,'), [['Bearer', { realm: 'x' }, undefined]]);
    assert.deepEqual(read(''), []);
  });

  test('reads quoted pairs and names in any case', () => {
    assert.deepEqual(read('bearer ERROR_description="a \\"b\\" \\\\c"'), [
      ['bearer', { error_description: 'a "b" \\c' }, undefined],
    ]);
    assert.equal(findBearerChallenge('Basic realm="x", bEaReR scope="y"')?.parameters.get('scope'), 'y');
    assert.equal(findBearerChallenge('Basic realm="x"'), undefined);
  });

  test('guesses nothing', () => {
    for (const text of [
      '=x',
      'Bearer a="b',
      'Bearer a="b" c="d"',
      'Bearer a=b, a=c',
      'Bearer "x"',
      'a=b',
      'Bearer a=,b=c',
      'Bearer é',
    ])
      assert.equal(parseChallenges(text), undefined, text);
  });
});

test('property: what is written is read again', () => {
  const scope = fc.stringMatching(/^[\x21\x23-\x5B\x5D-\x7E]{1,20}$/);
  const challenges = fc.record(
    {
      error: fc.constantFrom('invalid_request', 'invalid_token', 'insufficient_scope'),
      errorDescription: fc.stringMatching(/^[a-zA-Z][a-zA-Z ,.;:()'!?-]{0,80}[a-z.]$/),
      resourceMetadata: fc.webUrl({ validSchemes: ['https'] }),
      scopes: fc.array(scope, { minLength: 1, maxLength: 5 }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(challenges, (challenge: BearerChallenge) => {
      const read = parseChallenges(formatChallenge(challenge));
      assert.equal(read?.length, 1);
      const { scheme, parameters } = read[0]!;
      assert.equal(scheme, 'Bearer');
      assert.deepEqual(Object.fromEntries(parameters), {
        ...(challenge.error !== undefined && { error: challenge.error }),
        ...(challenge.resourceMetadata !== undefined && {
          resource_metadata: encodeURI(decodeURI(challenge.resourceMetadata)),
        }),
        ...(challenge.scopes !== undefined && { scope: challenge.scopes.join(' ') }),
        ...(challenge.errorDescription !== undefined && { error_description: challenge.errorDescription }),
      });
    }),
  );
});

test('property: whatever goes in, one sendable header with one challenge comes out', () => {
  const anything = fc.record({
    error: fc.constant('invalid_token' as const),
    errorDescription: anyText(),
    resourceMetadata: anyText(),
    scopes: fc.array(anyText()),
  });
  fc.assert(
    fc.property(anything, (challenge) => {
      const text = formatChallenge(challenge);
      assert.match(text, /^[\x20-\x7E]+$/);
      assert.equal(parseChallenges(text)?.length, 1);
    }),
  );
});

test('property: the reader never throws', () => {
  fc.assert(fc.property(fc.string(), (text) => void parseChallenges(text)));
});
