import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildContext } from '../../../../test/integration/admin-fixture.ts';
import { hashIdentifier, noteStep, recordEndpointStep, recordStep } from './flow-recorder.ts';
import type { FlowStep } from '../../request/flow-step.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from './oauth-endpoint.ts';

interface Served {
  readonly query?: string;
  readonly body?: string;
  readonly contentType?: string;
  readonly headers?: readonly string[];
  readonly answer?: Partial<OAuthAnswer>;
}

function record(name: string, { query = '', body = '', contentType = '', headers = [], answer }: Served): FlowStep {
  const context = buildContext({}, { headers });
  const endpoint: OAuthEndpoint = {
    name,
    methods: ['POST'],
    maxBodyBytes: () => 0,
    cors: true,
    handle: () => assert.fail(),
  };
  // Only what the recorder reads.
  const resource = {
    path: '/mcp',
    config: { source: 'default/tickets', idp: { getFlow: () => ({ flow: 'Broker' }) } },
  };
  const request = {
    context,
    resource,
    base: 'https://mcp.example',
    query: new URLSearchParams(query),
    body,
    contentType,
    cookies: new Map(),
    now: Date.now,
  } as unknown as OAuthRequest;
  recordEndpointStep(endpoint, request, { status: 200, headers: [], body: '', ...answer });
  assert.ok(context.flowStep);
  return context.flowStep;
}

describe('recordStep', () => {
  test('adds to what was said before', () => {
    const context = buildContext();
    noteStep(context, 'one');
    recordStep(context, { name: 'register', clientName: 'A', links: ['x'] });
    recordStep(context, { clientName: undefined, scope: 's', notes: ['two'], links: ['y'] });
    assert.deepEqual(context.flowStep, {
      name: 'register',
      clientName: 'A',
      scope: 's',
      notes: ['one', 'two'],
      links: ['x', 'y'],
    });
  });

  test('is bounded', () => {
    const context = buildContext();
    for (let count = 0; count < 100; count++) noteStep(context, 'n'.repeat(1000));
    assert.ok(JSON.stringify(context.flowStep).length < 4000);
  });
});

describe('recordEndpointStep', () => {
  test('a registration: the names and the redirect host of the request, a hash of the client_id of the answer', () => {
    const step = record('register', {
      contentType: 'application/json',
      body: JSON.stringify({ client_name: 'Editor', redirect_uris: ['http://127.0.0.1:4711/cb'], scope: 'a b' }),
      answer: { body: JSON.stringify({ client_id: 'sealed', client_secret: 'hunter2' }) },
    });
    assert.deepEqual(step, {
      name: 'register',
      policy: 'default/tickets',
      resource: '/mcp',
      flow: 'Broker',
      clientId: hashIdentifier('sealed'),
      clientName: 'Editor',
      redirectHost: '127.0.0.1:4711',
      scope: 'a b',
    });
  });

  test('authorize, callback and token have something in common, two by two, and none of it can be read', () => {
    const authorize = record('authorize', {
      query: 'client_id=sealed&state=client-state&redirect_uri=com.example%3A%2Fcb',
      answer: { status: 302, headers: ['Location', 'https://idp.example/auth?state=sealed-state&nonce=n'] },
    });
    const callback = record('callback', {
      query: 'state=sealed-state&code=idp-code',
      answer: { status: 302, headers: ['location', 'http://127.0.0.1/cb?state=client-state&code=our-code&iss=x'] },
    });
    const token = record('token', {
      contentType: 'application/x-www-form-urlencoded',
      body: 'grant_type=authorization_code&code=our-code&code_verifier=v&client_id=sealed',
      answer: { body: JSON.stringify({ access_token: 'at', refresh_token: 'rt' }) },
    });
    const refresh = record('token', {
      contentType: 'application/x-www-form-urlencoded',
      body: 'grant_type=refresh_token&refresh_token=rt',
      headers: ['Authorization', `Basic ${Buffer.from('sealed:hunter2').toString('base64')}`],
      answer: { status: 400, body: JSON.stringify({ error: 'invalid_grant' }) },
    });
    const share = (left: FlowStep, right: FlowStep): boolean =>
      (left.links ?? []).some((link) => (right.links ?? []).includes(link));
    assert.ok(share(authorize, callback));
    assert.ok(share(callback, token));
    assert.ok(share(token, refresh));
    assert.equal(authorize.redirectHost, 'com.example:');
    assert.equal(refresh.clientId, authorize.clientId);
    assert.deepEqual([refresh.grantType, refresh.error], ['refresh_token', 'invalid_grant']);
    assert.doesNotMatch(
      JSON.stringify([authorize, callback, token, refresh]),
      /client-state|sealed|idp-code|our-code|hunter2|"rt"|"at"/,
    );
  });

  test('an error that travels in a redirect is noted', () => {
    const step = record('callback', {
      answer: { status: 302, headers: ['Location', 'http://127.0.0.1/cb?error=access_denied'], detail: 'why' },
    });
    assert.deepEqual([step.error, step.detail], ['access_denied', 'why']);
  });

  test('bodies that are not what they claim to be are no trouble', () => {
    for (const body of ['{', '[]', 'null', '{"redirect_uris":7,"client_name":{}}', '%%%=%']) {
      assert.equal(record('register', { contentType: 'application/json', body }).name, 'register');
      assert.equal(
        record('token', { contentType: 'text/plain', body, headers: ['authorization', 'Basic %%'] }).name,
        'token',
      );
    }
  });
});
