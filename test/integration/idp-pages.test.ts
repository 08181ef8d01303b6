// Pages of docs/idp about identity providers that could not be tried: with the policy of the page and a stub in place of the real one, people get in and stay in, and
// check --online prints what the page shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkForPage } from '../compatibility/checked-page.ts';
import { type StartedIdp, startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { FlowClient } from '../idp/flow-client.ts';
import { startGithubIdp } from '../idp/github-idp.ts';
import { idpProfiles } from '../idp/idp-profiles.ts';
import { readBlocks } from '../idp/page-blocks.ts';
import { readPagePolicy } from '../idp/page-policy.ts';
import type { Quirks } from '../idp/quirks.ts';
import { startProtectedSystem } from '../idp/protected-system.ts';
import { initialize } from '../idp/stepwise-login.ts';

interface Shown {
  readonly page: string;
  /** Of the policies on the page. */
  readonly policy?: number;
  readonly issuer: string;
  readonly start: (callback: string) => Promise<StartedIdp>;
  /** Addresses of the stub as the real one has them. */
  readonly rename?: (text: string, idp: StartedIdp) => string;
}

const secret = 'the-secret-of-the-page';

function readClientId(policy: Readonly<Record<string, unknown>>): string {
  return (policy as { readonly registration: { readonly clientId: string } }).registration.clientId;
}

/** Like the one of this name, with one client for the gateway as the policy of the page has it; `quirks`: what the page says to set up there. */
async function startLike(
  name: string,
  policy: Readonly<Record<string, unknown>>,
  callback: string,
  quirks: Partial<Quirks> = {},
): Promise<StartedIdp> {
  const profile = idpProfiles.find((each) => each.name === name)!;
  const idp = await startQuirky({ ...profile.quirks, ...quirks }, policy);
  if (policy['registration'] !== undefined)
    idp.quirky.addClient({ id: readClientId(policy), secret, method: 'as-listed', redirectUris: [callback] });
  return { ...idp, authentication: { ...policy, issuer: idp.issuer }, secrets: { 'client-secret': secret } };
}

const pages: readonly Shown[] = [
  {
    page: 'idp/entra.md',
    issuer: 'https://login.microsoftonline.com/0f5c8a1e-0000-4000-8000-000000000000/v2.0',
    start: (callback) => {
      const policy = readPagePolicy('idp/entra.md');
      return startLike('Entra', policy, callback, { audience: [readClientId(policy)], keysWithoutAlg: true });
    },
    rename: (text) => text.replace('/v2.0/jwks', '/discovery/v2.0/keys'),
  },
  {
    page: 'idp/okta-auth0.md',
    issuer: 'https://example.okta.com/oauth2/default',
    start: (callback) => {
      const policy = readPagePolicy('idp/okta-auth0.md');
      return startLike('Okta', policy, callback, {
        registration: 'none',
        audience: ['api://default'],
        endpointPaths: { jwks: '/v1/keys' },
      });
    },
  },
  {
    page: 'idp/okta-auth0.md',
    policy: 1,
    issuer: 'https://example.eu.auth0.com/',
    start: (callback) => {
      // The API at Auth0 is named like the server.
      const url = new URL(callback);
      const policy = { ...readPagePolicy('idp/okta-auth0.md', 1), audiences: [`${url.origin}/tickets`] };
      return startLike('Auth0', policy, callback, {
        endpointPaths: { jwks: '/.well-known/jwks.json', register: '/oidc/register' },
      });
    },
    rename: (text, idp) =>
      text.replaceAll((idp.authentication['audiences'] as string[])[0]!, 'https://mcp.example.com/mcp'),
  },
  {
    page: 'idp/google.md',
    issuer: 'https://accounts.google.com',
    start: (callback) => startLike('Google', readPagePolicy('idp/google.md'), callback),
    rename: (text, { quirky }) =>
      text
        .replaceAll(`${quirky!.secondServer.origin}/oauth2/`, 'https://www.googleapis.com/oauth2/')
        .replaceAll(`${quirky!.secondServer.origin}/v1/`, 'https://openidconnect.googleapis.com/v1/'),
  },
  {
    page: 'idp/github.md',
    issuer: 'https://github.com',
    async start(callback) {
      const policy = readPagePolicy('idp/github.md');
      const idp = await startGithubIdp({
        kind: 'OAuth app',
        clientId: readClientId(policy),
        clientSecret: secret,
        callback,
      });
      const { issuer, server, endpoints } = idp;
      // The page names the same ones for GitHub Enterprise Server.
      const { endpoints: shown } = readPagePolicy('idp/github.md', 1);
      assert.deepEqual(
        JSON.parse(JSON.stringify(shown).replaceAll('https://github.example.com', issuer)) as unknown,
        endpoints,
      );
      return {
        issuer,
        server,
        authentication: { ...policy, issuer, endpoints },
        secrets: { 'client-secret': secret },
        quirky: undefined,
        rotateKeys: () => Promise.reject(new Error('it signs nothing')),
        close: () => idp.close(),
      };
    },
    rename: (text) =>
      text
        .replace('the policy has the endpoints', 'the preset GitHub has the endpoints')
        .replaceAll('https://github.com/api/v3/', 'https://api.github.com/'),
  },
];

for (const { page, policy = 0, issuer, start, rename = (text: string) => text } of pages)
  test(`docs/${page}: policy ${policy + 1} lets people in and keeps them in, and check --online prints what is shown`, async (t) => {
    const system = await startProtectedSystem({ startIdp: start });
    t.after(() => system.close());
    const client = await new FlowClient(system.url).connect(new BrowserAgent());
    await initialize(client);
    await client.refresh();
    const printed = rename(await checkForPage(system, issuer), system.idp);
    assert.ok(readBlocks(page, 'text').includes(printed), `not on the page:\n${printed}`);
  });
