// MCP authentication with real clients: SDK v1 and SDK v2 crossed with identity providers, from the 401 to a tool call and a refreshed token.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { walkJourney } from '../idp/auth-journey.ts';
import { type AuthSetup, oidcProviderSetups, profileSetups } from '../idp/auth-setups.ts';
import { ask, FlowClient, postMcp } from '../idp/flow-client.ts';
import { type ProtectedSystem, startProtectedSystem } from '../idp/protected-system.ts';
import { authSdkV1, authSdkV2 } from '../idp/sdk-auth-clients.ts';
import { isFull } from '../kit/effort.ts';
import { waitFor } from '../kit/wait-for.ts';

const libraries = [authSdkV1, authSdkV2];

for (const [index, setup] of [...oidcProviderSetups, ...profileSetups].entries()) {
  describe(setup.name, () => {
    let system: ProtectedSystem;
    before(async () => {
      system = await startProtectedSystem({ startIdp: (callback) => setup.start(callback) });
      // On a busy machine the gateway's first call to the identity provider may come to nothing.
      await waitFor(async () => (await postMcp(system.url, {})).status !== 503);
    });
    after(() => system?.close());

    test(`the flow is ${setup.flow}, and the metadata says so`, () => checkMetadata(setup, system));

    for (const library of isFull ? libraries : [libraries[index % 2]!]) {
      test(`${library.name}: from the 401 to a tool call and a refreshed token`, () =>
        walkJourney(library, system, setup));
    }
  });
}

async function checkMetadata(setup: AuthSetup, system: ProtectedSystem): Promise<void> {
  const client = new FlowClient(system.url);
  await client.getChallenge();
  await client.discoverResource();
  await client.discoverServer();
  const server = client.server!;
  const gateway = new URL(system.url).origin;
  const idpDocument = async (): Promise<Record<string, unknown>> =>
    (await ask(`${system.idp.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)).json();
  switch (setup.flow) {
    case 'Direct':
      assert.deepEqual(client.resource!.authorization_servers, [system.idp.issuer]);
      return;
    case 'Facade': {
      const own = { registration_endpoint: `${gateway}/.oauth/tickets/register`, issuer: server.issuer };
      assert.deepEqual(server, { ...(await idpDocument()), ...own });
      return;
    }
    default:
      assert.equal(server.authorization_endpoint, `${gateway}/.oauth/tickets/authorize`);
      assert.equal(server.token_endpoint, `${gateway}/.oauth/tickets/token`);
      assert.equal(server.registration_endpoint, `${gateway}/.oauth/tickets/register`);
      assert.equal(server.authorization_response_iss_parameter_supported, true);
      assert.deepEqual(server['code_challenge_methods_supported'], ['S256']);
      assert.ok((server['token_endpoint_auth_methods_supported'] as string[]).includes('none'));
  }
}
