import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  authorizationServerMetadataEndpoint,
  describeBroker,
  describeFacade,
  supportsPkce,
} from './authorization-server-metadata.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import { standardPreset } from '../../../config/provider-preset.ts';
import type { OAuthAnswer } from '../oauth-endpoint.ts';
import { createContext, createResource, type ResourceOptions, valueOf } from '../../testing/auth-fixture.ts';

const base = 'https://mcp.example.com';
const metadata: IdpMetadata = {
  issuer: 'https://idp.example.com',
  authorization_endpoint: 'https://idp.example.com/authorize',
  token_endpoint: 'https://idp.example.com/token',
  registration_endpoint: 'https://idp.example.com/register',
  jwks_uri: 'https://idp.example.com/jwks',
  response_types_supported: ['code', 'id_token'],
  grant_types_supported: [
    'implicit',
    'authorization_code',
    'refresh_token',
    'urn:ietf:params:oauth:grant-type:device_code',
  ],
  scopes_supported: ['openid', 'offline_access'],
  token_endpoint_auth_methods_supported: ['private_key_jwt', 'client_secret_post'],
  code_challenge_methods_supported: ['plain', 'S256'],
  signed_metadata: 'x.y.z',
  device_authorization_endpoint: 'https://idp.example.com/device',
  request_parameter_supported: true,
  x_unknown: [{ kept: true }],
};
const input = {
  metadata,
  preset: standardPreset,
  issuer: `${base}/mcp`,
  formatEndpoint: (name: string) => `${base}/.oauth/mcp/${name}`,
  takesRegistrations: true,
  takesClientDocuments: true,
};

describe('Facade', () => {
  test('differs from the document of the IdP in issuer and registration_endpoint only', () => {
    const { signed_metadata: _signed, ...unsigned } = metadata;
    assert.deepEqual(describeFacade(input), {
      ...unsigned,
      issuer: `${base}/mcp`,
      registration_endpoint: `${base}/.oauth/mcp/register`,
    });
  });

  test('offers no registration that cannot work, and PKCE only where there is PKCE', () => {
    const { code_challenge_methods_supported: _listed, ...unlisted } = metadata;
    const document = describeFacade({ ...input, metadata: unlisted, takesRegistrations: false });
    assert.equal('registration_endpoint' in document, false);
    assert.equal('code_challenge_methods_supported' in document, false);
    const preset = { name: 'x', supportsPkce: true };
    const entra = describeFacade({ ...input, metadata: unlisted, preset });
    assert.deepEqual(entra['code_challenge_methods_supported'], ['S256']);
  });
});

describe('Broker', () => {
  test('speaks for itself where it stands in, and keeps the rest', () => {
    assert.deepEqual(describeBroker(input), {
      issuer: `${base}/mcp`,
      authorization_endpoint: `${base}/.oauth/mcp/authorize`,
      token_endpoint: `${base}/.oauth/mcp/token`,
      registration_endpoint: `${base}/.oauth/mcp/register`,
      jwks_uri: 'https://idp.example.com/jwks',
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      scopes_supported: ['openid', 'offline_access'],
      token_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      request_parameter_supported: false,
      x_unknown: [{ kept: true }],
    });
  });

  test('does not invent PKCE, scopes or client documents', () => {
    const plain: IdpMetadata = {
      issuer: metadata.issuer,
      authorization_endpoint: metadata.authorization_endpoint!,
      token_endpoint: metadata.token_endpoint!,
      client_id_metadata_document_supported: true,
    };
    const document = describeBroker({
      ...input,
      metadata: plain,
      takesClientDocuments: false,
      takesRegistrations: false,
    });
    for (const name of [
      'code_challenge_methods_supported',
      'scopes_supported',
      'client_id_metadata_document_supported',
      'registration_endpoint',
    ])
      assert.equal(name in document, false, name);
    assert.deepEqual(document['token_endpoint_auth_methods_supported'], ['none']);
    assert.equal(supportsPkce(plain, standardPreset), false);
    assert.equal(
      supportsPkce({ ...plain, code_challenge_methods_supported: ['plain'] }, { name: '', supportsPkce: true }),
      false,
    );
  });
});

describe('the endpoint', () => {
  async function ask(options: ResourceOptions, isRootForm = false): Promise<OAuthAnswer> {
    const { context } = createContext();
    return authorizationServerMetadataEndpoint.handle({
      context,
      resource: createResource(options),
      base,
      isRootForm,
      query: new URLSearchParams(),
      body: '',
      contentType: '',
      cookies: new Map(),
      now: Date.now,
    });
  }
  const read = (answer: OAuthAnswer): Record<string, unknown> => JSON.parse(answer.body) as Record<string, unknown>;

  test('names in each form exactly the identifier that the form was derived from', async () => {
    const own = read(await ask({}));
    assert.equal(own['issuer'], `${base}/mcp`);
    assert.equal(own['authorization_endpoint'], `${base}/.oauth/mcp/authorize`);
    const root = read(await ask({}, true));
    assert.equal(root['issuer'], base);
    assert.equal(root['authorization_endpoint'], `${base}/.oauth/authorize`);
    assert.equal(root['registration_endpoint'], `${base}/.oauth/register`);
  });

  test('is not cached where it depends on the host', async () => {
    const answer = await ask({});
    assert.equal(valueOf(answer.headers, 'cache-control'), 'no-store');
    assert.match(valueOf(answer.headers, 'vary')!, /Host/);
    const configured = await ask({ message: { resource: 'https://public.example/mcp' } });
    assert.equal(valueOf(configured.headers, 'cache-control'), 'max-age=60');
  });

  test('offers no registration where the IdP has none', async () => {
    const without = { registration_endpoint: undefined } as unknown as Partial<IdpMetadata>;
    assert.equal('registration_endpoint' in read(await ask({ metadata: without })), false);
    const configured = { metadata: without, message: { registration: { endpoint: 'https://idp.example.com/dcr' } } };
    assert.equal(read(await ask(configured))['registration_endpoint'], `${base}/.oauth/mcp/register`);
  });

  test('answers 503 and when to come back while the IdP cannot be reached', async () => {
    const answer = await ask({
      idp: { getMetadata: () => Promise.resolve({ ok: false, detail: 'no route to host', retryAfterSeconds: 3.2 }) },
    });
    assert.equal(answer.status, 503);
    assert.equal(valueOf(answer.headers, 'retry-after'), '4');
    assert.equal(answer.reason, 'idp_unavailable');
    assert.equal(answer.detail, 'no route to host');
    assert.equal(answer.body.includes('no route to host'), false);
  });

  test('does not exist with Direct', async () => {
    const answer = await ask({ idp: { getFlow: () => ({ flow: 'Direct', reason: 'x' }) } });
    assert.equal(answer.status, 404);
  });
});
