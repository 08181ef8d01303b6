import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { Discovery } from '../../gateway/authentication/login/idp/discover-metadata.ts';
import type { FlowChoice } from '../../gateway/config/idp-connection.ts';
import { standardPreset } from '../../gateway/config/provider-preset.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import { McpAuthenticationSchema, RegistrationMode } from '../../ir/gen/config_pb.ts';
import { forecastClients } from './forecast-clients.ts';
import { guessProvider } from './guess-provider.ts';

interface Setting {
  readonly flow: FlowChoice['flow'];
  readonly metadata?: Record<string, unknown>;
  readonly emitsIssuer?: boolean;
  readonly shared?: boolean;
  readonly documents?: boolean;
}

const registering = {
  registration_endpoint: 'https://idp.example/register',
  code_challenge_methods_supported: ['S256'],
};

function forecast({ flow, metadata = registering, emitsIssuer = false, shared = false, documents = true }: Setting) {
  const mode = shared ? RegistrationMode.SHARED : RegistrationMode.FORWARD;
  const message = create(McpAuthenticationSchema, {
    issuer: 'https://idp.example',
    registration: { mode, clientId: shared ? 'gateway' : '' },
    clientIdMetadataDocuments: documents,
  });
  // Only what a forecast reads.
  const config = { message, preset: standardPreset } as unknown as McpAuthenticationConfig;
  const discovery = {
    ok: true,
    metadata: { issuer: 'https://idp.example', ...metadata },
    url: '',
    jwksUri: undefined,
    emitsIssuer,
    freshForMs: undefined,
    tries: [],
  } satisfies Extract<Discovery, { ok: true }>;
  const clients = forecastClients(config, { flow, reason: '' }, discovery);
  return Object.fromEntries(clients.map(({ family, mark }) => [family, mark]));
}

const allGood = { 'SDK v1': 'good', 'SDK v2': 'good', 'in a browser': 'good', 'with CIMD': 'good' };
const allBad = { 'SDK v1': 'bad', 'SDK v2': 'bad', 'in a browser': 'bad', 'with CIMD': 'bad' };

describe('what clients will do', () => {
  test('Broker works for all, with Forward and with Shared; without registration for none', () => {
    assert.deepEqual(forecast({ flow: 'Broker', emitsIssuer: true }), allGood);
    assert.deepEqual(forecast({ flow: 'Broker', shared: true, metadata: {} }), allGood);
    assert.deepEqual(forecast({ flow: 'Broker', metadata: {} }), allBad);
    assert.equal(forecast({ flow: 'Broker', documents: false })['with CIMD'], 'remark');
  });

  test('Facade works where there is no iss; in a browser it depends on CORS', () => {
    assert.deepEqual(forecast({ flow: 'Facade' }), { ...allGood, 'in a browser': 'remark' });
    const onlyOld = { ...allBad, 'SDK v1': 'good' };
    assert.deepEqual(forecast({ flow: 'Facade', emitsIssuer: true }), onlyOld);
    const withoutPkce = { registration_endpoint: 'https://idp.example/register' };
    assert.deepEqual(forecast({ flow: 'Facade', metadata: withoutPkce }), onlyOld);
    assert.deepEqual(forecast({ flow: 'Facade', metadata: {} }), allBad);
  });

  test('Direct needs all of it from the identity provider', () => {
    assert.deepEqual(forecast({ flow: 'Direct', emitsIssuer: true }), { ...allGood, 'in a browser': 'remark' });
    assert.deepEqual(forecast({ flow: 'Direct', metadata: {} }), allBad);
    const withDocuments = { code_challenge_methods_supported: ['S256'], client_id_metadata_document_supported: true };
    assert.equal(forecast({ flow: 'Direct', metadata: withDocuments })['with CIMD'], 'good');
    const withoutPkce = { registration_endpoint: 'https://idp.example/register' };
    assert.deepEqual(forecast({ flow: 'Direct', metadata: withoutPkce }), { ...allBad, 'SDK v1': 'good' });
  });
});

test('identity providers are recognised by their issuers, and others are left alone', () => {
  const known: readonly (readonly [string, string | undefined])[] = [
    ['https://sso.example.com/realms/mcp', 'Keycloak'],
    ['https://login.microsoftonline.com/1b4e28ba/v2.0', 'Entra'],
    ['https://sts.windows.net/1b4e28ba/', 'Entra'],
    ['https://acme.eu.auth0.com/', 'Auth0'],
    ['https://acme.okta.com/oauth2/default', 'Okta'],
    ['https://accounts.google.com', 'Google'],
    ['https://api.descope.com/v1/apps/agentic/p/s', 'Descope'],
    ['https://auth.example.com/application/o/mcp/', 'Authentik'],
    ['https://idp.example.com', undefined],
    ['https://auth0.com.evil.example', undefined],
    ['https://example.com/?x=accounts.google.com', undefined],
  ];
  for (const [issuer, provider] of known) assert.equal(guessProvider(issuer), provider, issuer);
});
