// docs/idp/google.md and github.md: with the policy of the page and a stub in place of the real one, people get in, and check --online prints what the page shows.
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
import { startProtectedSystem } from '../idp/protected-system.ts';
import { initialize } from '../idp/stepwise-login.ts';

interface Shown {
  readonly page: string;
  readonly issuer: string;
  readonly start: (callback: string) => Promise<StartedIdp>;
  /** Addresses of the stub as the real one has them. */
  readonly rename?: (text: string, idp: StartedIdp) => string;
}

const secret = 'the-secret-of-the-page';

function readClientId(policy: Readonly<Record<string, unknown>>): string {
  return (policy as { readonly registration: { readonly clientId: string } }).registration.clientId;
}

const pages: readonly Shown[] = [
  {
    page: 'idp/google.md',
    issuer: 'https://accounts.google.com',
    async start(callback) {
      const policy = readPagePolicy('idp/google.md');
      const { quirks } = idpProfiles.find(({ name }) => name === 'Google')!;
      const idp = await startQuirky(quirks, policy);
      const client = { id: readClientId(policy), secret, method: 'as-listed', redirectUris: [callback] };
      idp.quirky.addClient(client);
      return { ...idp, authentication: { ...policy, issuer: idp.issuer }, secrets: { 'client-secret': secret } };
    },
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

for (const { page, issuer, start, rename = (text: string) => text } of pages)
  test(`docs/${page}: the policy lets people in, and check --online prints what is shown`, async (t) => {
    const system = await startProtectedSystem({ startIdp: start });
    t.after(() => system.close());
    const client = await new FlowClient(system.url).connect(new BrowserAgent());
    await initialize(client);
    await client.refresh();
    const printed = rename(await checkForPage(system, issuer), system.idp);
    assert.ok(readBlocks(page, 'text').includes(printed), `not on the page:\n${printed}`);
  });
