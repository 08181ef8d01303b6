import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { CorsSchema } from '../../ir/gen/config_pb.ts';
import type { CompiledCors } from '../config/runtime-config.ts';
import { compileCors, CorsError, decideCors } from './cors.ts';
import { readPreflightMethod } from '../http/preflight.ts';

function compile(message: MessageInitShape<typeof CorsSchema>): CompiledCors {
  return compileCors(create(CorsSchema, message));
}

function toRecord(headers: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let index = 0; index < headers.length; index += 2) {
    assert.equal(record[headers[index]!], undefined, `${headers[index]} is there twice`);
    record[headers[index]!] = headers[index + 1]!;
  }
  return record;
}

function preflight(
  cors: CompiledCors,
  origin: string,
  method = 'PUT',
  requestHeaders?: string,
): Record<string, string> | string {
  const headers = ['Origin', origin, 'Access-Control-Request-Method', method];
  if (requestHeaders !== undefined) headers.push('Access-Control-Request-Headers', requestHeaders);
  const decision = decideCors(cors, 'OPTIONS', headers);
  return decision.kind === 'preflight' ? toRecord(decision.headers) : decision.kind;
}

function actual(cors: CompiledCors, origin?: string): Record<string, string> {
  const decision = decideCors(cors, 'POST', origin === undefined ? [] : ['origin', origin]);
  assert.equal(decision.kind, 'actual');
  return toRecord(decision.headers);
}

describe('origins', () => {
  const cors = compile({
    allowOrigins: [
      'https://a.test',
      'http://b.test:8080',
      'https://*.example.com',
      'http://*:3000',
      'https://c.test:443',
    ],
  });
  for (const origin of [
    'https://a.test',
    'https://A.test',
    'https://a.test:443',
    'http://b.test:8080',
    'https://x.example.com',
    'https://x.y.example.com',
    'http://localhost:3000',
    'http://[::1]:3000',
    'https://c.test',
  ]) {
    test(`allows ${origin}`, () => assert.equal(cors.allowsOrigin(origin), true));
  }
  for (const origin of [
    'http://a.test',
    'https://a.test:8443',
    'https://a.test.evil.test',
    'http://b.test',
    'https://example.com',
    'https://evilexample.com',
    'http://x.example.com',
    'https://x.example.com:8443',
    'https://*.example.com',
    'null',
    '',
    'https://a.test/',
    'https://user@a.test',
    'http://localhost:3001',
    'https://a.test https://b.test',
    'https://.example.com\r\n',
  ]) {
    test(`does not allow ${JSON.stringify(origin)}`, () => assert.equal(cors.allowsOrigin(origin), false));
  }

  for (const pattern of [
    'a.test',
    'https://',
    'https://a.test/path',
    'https://a.*.test',
    'https://*a.test',
    '*.example.com',
    '',
  ]) {
    test(`${JSON.stringify(pattern)} is not a pattern`, () => {
      assert.throws(() => compile({ allowOrigins: [pattern] }), CorsError);
    });
  }

  test('header and method names are checked', () => {
    assert.throws(() => compile({ allowOrigins: ['*'], allowHeaders: ['a\r\nb'] }), CorsError);
    assert.throws(() => compile({ allowOrigins: ['*'], exposeHeaders: [''] }), CorsError);
    assert.throws(() => compile({ allowOrigins: ['*'], allowMethods: ['GET POST'] }), CorsError);
  });
});

describe('preflights', () => {
  test('are answered from the configuration', () => {
    const cors = compile({
      allowOrigins: ['https://a.test'], allowMethods: ['PUT', 'DELETE'], allowHeaders: ['X-One', 'X-Two'], exposeHeaders: ['X-Three'], allowCredentials: true, maxAgeSeconds: 600,
    }); // prettier-ignore
    assert.deepEqual(preflight(cors, 'https://a.test'), {
      'access-control-allow-origin': 'https://a.test',
      vary: 'Origin',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'X-Three',
      'access-control-allow-methods': 'PUT, DELETE',
      'access-control-allow-headers': 'X-One, X-Two',
      'access-control-max-age': '600',
    });
  });

  test('from another origin are refused', () => {
    assert.equal(preflight(compile({ allowOrigins: ['https://a.test'] }), 'https://b.test'), 'refused');
    assert.equal(preflight(compile({}), 'https://b.test'), 'refused');
  });

  test('any origin without credentials is a literal *', () => {
    assert.deepEqual(preflight(compile({ allowOrigins: ['*'] }), 'https://b.test'), {
      'access-control-allow-origin': '*',
      'access-control-max-age': '0',
    });
  });

  test('with credentials nothing is ever a literal *', () => {
    const cors = compile({
      allowOrigins: ['*'],
      allowMethods: ['*'],
      allowHeaders: ['*'],
      exposeHeaders: ['*'],
      allowCredentials: true,
    });
    const answers = [
      preflight(cors, 'https://b.test', 'PATCH', 'x-a, authorization'),
      preflight(cors, 'https://b.test', 'PATCH'),
      actual(cors, 'https://b.test'),
    ];
    for (const answer of answers) assert.ok(!Object.values(answer).includes('*'), JSON.stringify(answer));
    assert.deepEqual(answers[0], {
      'access-control-allow-origin': 'https://b.test',
      vary: 'Origin',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'PATCH',
      'access-control-allow-headers': 'x-a, authorization',
      'access-control-max-age': '0',
    });
    assert.equal((answers[1] as Record<string, string>)['access-control-allow-headers'], undefined);
  });

  test('a wildcard for headers repeats the question, so that Authorization is among them', () => {
    const cors = compile({ allowOrigins: ['*'], allowHeaders: ['*'] });
    assert.equal(
      (preflight(cors, 'https://b.test', 'GET', 'authorization') as Record<string, string>)[
        'access-control-allow-headers'
      ],
      'authorization',
    );
  });

  test('what is not a list of names is not repeated', () => {
    const cors = compile({ allowOrigins: ['*'], allowHeaders: ['*'], allowMethods: ['*'] });
    const answer = preflight(cors, 'https://b.test', 'G T', 'a: b') as Record<string, string>;
    assert.equal(answer['access-control-allow-headers'], undefined);
    assert.equal(answer['access-control-allow-methods'], undefined);
  });

  test('need OPTIONS, an origin and a method', () => {
    assert.equal(
      readPreflightMethod('OPTIONS', ['ORIGIN', 'https://a.test', 'access-control-request-method', 'PUT']),
      'PUT',
    );
    assert.equal(readPreflightMethod('OPTIONS', ['origin', 'https://a.test']), undefined);
    assert.equal(readPreflightMethod('OPTIONS', ['access-control-request-method', 'PUT']), undefined);
    assert.equal(
      readPreflightMethod('GET', ['origin', 'https://a.test', 'access-control-request-method', 'PUT']),
      undefined,
    );
    assert.equal(decideCors(compile({ allowOrigins: ['*'] }), 'OPTIONS', ['origin', 'https://a.test']).kind, 'actual');
  });
});

describe('other requests', () => {
  const cors = compile({
    allowOrigins: ['https://a.test'],
    exposeHeaders: ['Mcp-Session-Id', 'X-Two'],
    allowMethods: ['PUT'],
  });

  test('get the headers for their origin', () => {
    assert.deepEqual(actual(cors, 'https://a.test'), {
      'access-control-allow-origin': 'https://a.test',
      vary: 'Origin',
      'access-control-expose-headers': 'Mcp-Session-Id, X-Two',
    });
  });

  test('of another origin, or without one, get none; caches are told that the origin matters', () => {
    assert.deepEqual(actual(cors, 'https://b.test'), { vary: 'Origin' });
    assert.deepEqual(actual(cors), { vary: 'Origin' });
    assert.deepEqual(actual(compile({ allowOrigins: ['*'] })), {});
  });

  test('expose everything with * and no credentials', () => {
    assert.equal(
      actual(compile({ allowOrigins: ['*'], exposeHeaders: ['*'] }), 'https://b.test')['access-control-expose-headers'],
      '*',
    );
  });
});
