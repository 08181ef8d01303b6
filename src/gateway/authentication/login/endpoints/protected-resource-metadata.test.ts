import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LoginFlow } from '../../../../ir/gen/config_pb.ts';
import { answerResource, describeResource } from './protected-resource-metadata.ts';
import { createResource } from '../../testing/auth-fixture.ts';

const base = 'https://mcp.example.com';

describe('describeResource', () => {
  test('names the resource, the gateway as its authorization server, and how a token is sent', () => {
    assert.deepEqual(describeResource(base, createResource()), {
      resource: `${base}/mcp`,
      authorization_servers: [`${base}/mcp`],
      bearer_methods_supported: ['header'],
    });
  });

  test('the resource at the root has the base as its name', () => {
    const { resource, authorization_servers } = describeResource(base, createResource({ path: '' }));
    assert.deepEqual([resource, authorization_servers], [base, [base]]);
  });

  test('lists required scopes, with those of the operator, and never adds another', () => {
    const resource = createResource({
      message: { requiredScopes: ['read'], resourceMetadata: '{"scopes_supported": ["read", "write"]}' },
      metadata: { scopes_supported: ['openid', 'offline_access'] },
    });
    assert.deepEqual(describeResource(base, resource)['scopes_supported'], ['read', 'write']);
    assert.equal('scopes_supported' in describeResource(base, createResource()), false);
  });

  test('passes members of the policy on, but not in place of what the gateway knows', () => {
    const members = {
      resource_name: 'Tickets',
      resource_documentation: 'https://docs.example.com',
      resource: 'https://evil.example',
      authorization_servers: ['https://evil.example'],
      x_unknown: { a: 1 },
      contacts: [],
    };
    const resource = createResource({ message: { resourceMetadata: JSON.stringify(members) } });
    assert.deepEqual(describeResource(base, resource), {
      resource: `${base}/mcp`,
      authorization_servers: [`${base}/mcp`],
      resource_name: 'Tickets',
      resource_documentation: 'https://docs.example.com',
      x_unknown: { a: 1 },
      bearer_methods_supported: ['header'],
    });
  });

  test('the configured URL is the resource; the issuer stays on its origin', () => {
    const resource = createResource({ message: { resource: 'https://public.example/mcp' } });
    const document = describeResource('https://public.example', resource);
    assert.equal(document['resource'], 'https://public.example/mcp');
    assert.deepEqual(document['authorization_servers'], ['https://public.example/mcp']);
  });

  test('Direct names the IdP as it names itself, or as configured while that is not known', () => {
    const message = { flow: LoginFlow.DIRECT, issuer: 'https://sts.example/1/' };
    const known = createResource({ message, metadata: { issuer: 'https://login.example/1/v2.0' } });
    assert.deepEqual(describeResource(base, known)['authorization_servers'], ['https://login.example/1/v2.0']);
    const down = createResource({
      message,
      idp: { getMetadata: () => ({ ok: false, detail: 'down', retryAfterSeconds: 1 }) },
    });
    assert.deepEqual(describeResource(base, down)['authorization_servers'], ['https://sts.example/1/']);
  });
});

describe('answerResource', () => {
  const readServers = (url: string, resource: ReturnType<typeof createResource>): unknown =>
    (JSON.parse(answerResource(url, resource).body) as Record<string, unknown>)['authorization_servers'];

  test('is made once, and again for another base, another resource or another name of the IdP', () => {
    const resource = createResource();
    assert.equal(answerResource(base, resource), answerResource(base, resource));
    assert.deepEqual(readServers('https://other.example', resource), ['https://other.example/mcp']);
    assert.deepEqual(readServers(base, resource), [`${base}/mcp`]);
    assert.deepEqual(readServers(base, createResource({ path: '/two' })), [`${base}/two`]);

    let isUp = false;
    const { idp } = createResource({ metadata: { issuer: 'https://login.example/1/v2.0' } }).config;
    const direct = createResource({
      message: { flow: LoginFlow.DIRECT, issuer: 'https://sts.example/1/' },
      idp: { getMetadata: () => (isUp ? idp.getMetadata() : { ok: false, detail: 'down', retryAfterSeconds: 1 }) },
    });
    assert.deepEqual(readServers(base, direct), ['https://sts.example/1/']);
    isUp = true;
    assert.deepEqual(readServers(base, direct), ['https://login.example/1/v2.0']);
  });
});
