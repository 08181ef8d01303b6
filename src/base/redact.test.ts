import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { isSecretName, isSecretParameter, redactLine, redactText, redactValue } from './redact.ts';

const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl';

test('a parameter of a query is secret by its name too, and there are more such names', () => {
  for (const name of ['access_token', 'code', 'Key', 'sig', 'jwt', 'password'])
    assert.ok(isSecretParameter(name), name);
  for (const name of ['team', 'page', 'codes', 'keyword']) assert.ok(!isSecretParameter(name), name);
});

describe('secret names', () => {
  for (const name of [
    'authorization',
    'Authorization',
    'Proxy-Authorization',
    'cookie',
    'Set-Cookie',
    'x-api-key',
    'apiKey',
    'access_token',
    'accessToken',
    'client_secret',
    'clientSecret',
    'password',
    'privateKey',
    'code_verifier',
    'client_assertion',
  ]) {
    test(`${name} is one`, () => assert.equal(isSecretName(name), true));
  }
  for (const name of [
    'path',
    'user_agent',
    'token_type',
    'tokens',
    'key',
    'secretary',
    'authorization_endpoint',
    'cookies_seen',
  ]) {
    test(`${name} is none`, () => assert.equal(isSecretName(name), false));
  }
});

describe('texts', () => {
  const cases: readonly (readonly [string, string])[] = [
    [`sent Bearer ${jwt} upstream`, 'sent Bearer [redacted] upstream'],
    ['authorization: basic dXNlcjpwYXNz', 'authorization: basic [redacted]'],
    [`token ${jwt}`, 'token [redacted]'],
    ['GET /cb?code=abc&state=1', 'GET /cb?code=[redacted]&state=1'],
    ['/mcp?access_token=abc#x', '/mcp?access_token=[redacted]#x'],
    ['client_secret=abc&grant_type=x', 'client_secret=[redacted]&grant_type=x'],
    ['https://joe:hunter2@idp.example/x', 'https://joe:[redacted]@idp.example/x'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----', '[redacted]'],
  ];
  for (const [text, expected] of cases) test(text.slice(0, 30), () => assert.equal(redactText(text), expected));

  for (const text of [
    'a bearer token is required',
    'basic authentication is not supported',
    '/mcp?page=2',
    'code=200',
    'connect ECONNREFUSED 127.0.0.1:3001',
  ]) {
    test(`keeps ${text}`, () => assert.equal(redactText(text), text));
  }
});

describe('values', () => {
  test('objects, header maps and flat header lists', () => {
    assert.deepEqual(
      redactValue({
        headers: { Authorization: 'Bearer x', accept: '*/*', 'set-cookie': ['a=1', 'b=2'] },
        raw: ['Cookie', 'sid=1', 'Accept', '*/*', 'X-Api-Key', 'k'],
        token: 12,
        nested: [{ password: { a: 1 } }],
      }),
      {
        headers: { Authorization: '[redacted]', accept: '*/*', 'set-cookie': '[redacted]' },
        raw: ['Cookie', '[redacted]', 'Accept', '*/*', 'X-Api-Key', '[redacted]'],
        token: '[redacted]',
        nested: [{ password: '[redacted]' }],
      },
    );
  });

  test('a clean line is handed back as it is', () => {
    const line = '{"level":"info","path":"/mcp"}\n';
    assert.equal(redactLine(line), line);
  });

  test('a secret is found wherever it hides in a line', () => {
    const secret = fc.stringMatching(/^[A-Z][a-z0-9]{11,20}$/);
    const place = fc.constantFrom<(value: string) => unknown>(
      (value) => ({ headers: { authorization: value } }),
      (value) => ({ err: { message: 'failed', stack: `Error: failed\n  at https://x/?access_token=${value}` } }),
      (value) => ({ request: { Cookie: [value] } }),
      (value) => ({ msg: `sent Bearer ${value}` }),
      (value) => ({ url: `http://u:${value}@host/` }),
      (value) => ({ headers: ['x-api-key', value] }),
      (value) => ({ a: { b: [{ c: { client_secret: value } }] } }),
    );
    fc.assert(
      fc.property(secret, place, (value, build) => {
        const line = `${JSON.stringify({ level: 'info', ...(build(value) as object) })}\n`;
        assert.equal(redactLine(line).includes(value), false);
      }),
    );
  });
});
