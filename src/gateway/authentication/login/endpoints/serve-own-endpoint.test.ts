import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, test } from 'node:test';
import type { EndpointForm } from '../../../../ir/endpoint-paths.ts';
import { serveOwnEndpoint } from './serve-own-endpoint.ts';
import {
  type Answered,
  createContext,
  createResource,
  type FakeRequest,
  type ResourceOptions,
  valueOf,
} from '../../testing/auth-fixture.ts';

async function serve(
  form: EndpointForm,
  request: FakeRequest = {},
  options: ResourceOptions = {},
): Promise<Answered & { reason: string | undefined; detail: string | undefined }> {
  const { context, answered } = createContext(request);
  await serveOwnEndpoint({ context, resource: createResource(options), form, isRootForm: false });
  // Many refusals at once are answered one turn of the event loop after the other.
  for (let turn = 0; turn < 50 && answered.status === 0; turn++) await nextTurn();
  return { ...answered, reason: context.reason, detail: context.detail };
}

describe('methods', () => {
  test('GET and HEAD of metadata', async () => {
    const got = await serve('protected-resource-metadata');
    assert.equal(got.status, 200);
    assert.equal((JSON.parse(got.body) as { resource: string }).resource, 'https://mcp.example.com/mcp');
    assert.equal(got.reason, undefined);
    const head = await serve('protected-resource-metadata', { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.body, '');
    assert.equal(valueOf(head.headers, 'content-length'), String(Buffer.byteLength(got.body)));
  });

  test('others are refused with those that work', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'get']) {
      const answer = await serve('authorization-server-metadata', { method });
      assert.equal(answer.status, 405, method);
      assert.equal(valueOf(answer.headers, 'allow'), 'GET, HEAD, OPTIONS');
      assert.equal((JSON.parse(answer.body) as { error: string }).error, 'method_not_allowed');
      assert.equal(valueOf(answer.headers, 'access-control-allow-origin'), '*');
    }
    const get = await serve('register');
    assert.equal(get.status, 405);
    assert.equal(valueOf(get.headers, 'allow'), 'POST, OPTIONS');
  });
});

describe('CORS', () => {
  test('metadata, registration and token are open to every origin, without credentials', async () => {
    for (const form of [
      'protected-resource-metadata',
      'authorization-server-metadata',
      'openid-configuration',
      'register',
      'token',
    ] as const) {
      const answer = await serve(form, {
        method: 'OPTIONS',
        headers: [
          'origin',
          'https://app.example',
          'access-control-request-method',
          'POST',
          'access-control-request-headers',
          'mcp-protocol-version, authorization',
        ],
      });
      assert.equal(answer.status, 204, form);
      assert.equal(valueOf(answer.headers, 'access-control-allow-origin'), '*');
      assert.equal(valueOf(answer.headers, 'access-control-allow-headers'), 'mcp-protocol-version, authorization');
      assert.equal(valueOf(answer.headers, 'access-control-allow-credentials'), undefined);
    }
  });

  test('a list of headers that is none is not repeated', async () => {
    const answer = await serve('token', {
      method: 'OPTIONS',
      headers: ['access-control-request-method', 'POST', 'access-control-request-headers', 'a:b'],
    });
    assert.equal(valueOf(answer.headers, 'access-control-allow-headers'), '*, Authorization');
  });

  test('pages for people are not', async () => {
    for (const form of ['authorize', 'callback', 'consent'] as const) {
      const answer = await serve(form, {
        method: 'OPTIONS',
        headers: ['origin', 'https://app.example', 'access-control-request-method', 'GET'],
      });
      assert.equal(answer.status, 204);
      assert.equal(valueOf(answer.headers, 'access-control-allow-origin'), undefined, form);
    }
  });
});

describe('bodies', () => {
  test('that are too large are refused before anybody reads them', async () => {
    const answer = await serve('register', { method: 'POST', body: ['x'.repeat(70_000)] });
    assert.equal(answer.status, 413);
    assert.equal(answer.reason, 'body_too_large');
    const small = await serve(
      'register',
      { method: 'POST', body: ['x'.repeat(2_000)] },
      { message: { registration: { maxBodyBytes: 1_024 } } },
    );
    assert.equal(small.status, 413);
  });

  test('that break off are answered to nobody', async () => {
    const answer = await serve('register', { method: 'POST', body: ['{'], bodyEnd: 'broken' });
    assert.equal(answer.status, 0);
  });

  test('go to the endpoint whole', async () => {
    const answer = await serve('register', { method: 'POST', body: ['{"redirect', '_uris": []}'] });
    assert.equal(answer.status, 400);
    assert.equal((JSON.parse(answer.body) as { error: string }).error, 'invalid_redirect_uri');
    assert.equal(answer.reason, 'invalid_redirect_uri');
  });
});

describe('flows', () => {
  const withFlow = (flow: 'Facade' | 'Broker' | 'Direct'): ResourceOptions => ({
    idp: { getFlow: () => ({ flow, reason: 'x' }) },
  });

  test('have their endpoints and no others', async () => {
    for (const form of ['authorize', 'callback', 'token', 'consent'] as const)
      for (const flow of ['Facade', 'Direct'] as const) {
        const method = form === 'token' || form === 'consent' ? 'POST' : 'GET';
        const answer = await serve(form, { method }, withFlow(flow));
        assert.equal(answer.status, 404, `${form} ${flow}`);
        assert.equal(answer.reason, 'no_route');
      }
    const register = await serve('register', { method: 'POST', body: ['{}'] }, withFlow('Direct'));
    assert.equal(register.status, 404);
    assert.equal((await serve('protected-resource-metadata', {}, withFlow('Direct'))).status, 200);
  });

  test('are unknown while the IdP is: 503, and the resource metadata is served all the same', async () => {
    const idp = {
      getFlow: () => undefined,
      getMetadata: () => ({ ok: false as const, detail: 'down', retryAfterSeconds: 5 }),
    };
    for (const [form, method] of [
      ['register', 'POST'],
      ['authorize', 'GET'],
      ['token', 'POST'],
      ['authorization-server-metadata', 'GET'],
    ] as const) {
      const answer = await serve(form, { method, ...(method === 'POST' && { body: ['{}'] }) }, { idp });
      assert.equal(answer.status, 503, form);
      assert.equal(valueOf(answer.headers, 'retry-after'), '5');
      assert.equal(answer.detail, 'down');
    }
    assert.equal((await serve('protected-resource-metadata', {}, { idp })).status, 200);
  });
});

test('every answer is told to the inspector and carries its request id', async () => {
  const { context, answered } = createContext();
  await serveOwnEndpoint({ context, resource: createResource(), form: 'openid-configuration', isRootForm: false });
  assert.equal(valueOf(answered.headers, 'x-request-id'), context.requestId);
  assert.equal(context.flowStep?.name, 'openid-configuration');
});
