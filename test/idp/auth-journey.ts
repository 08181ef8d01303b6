// One cell of the compatibility matrix: a client goes from the 401 to a tool call, and on with a refreshed token.
import assert from 'node:assert/strict';
import { type AuthSetup, isBroker } from './auth-setups.ts';
import type { ProtectedSystem } from './protected-system.ts';
import type { AuthClientLibrary } from './sdk-auth-clients.ts';

/** Walks the whole way, and checks each part of it. */
export async function walkJourney(
  library: AuthClientLibrary,
  system: ProtectedSystem,
  setup: AuthSetup,
): Promise<void> {
  const client = await library.connect({ url: system.url });
  try {
    const [first] = client.requests;
    assert.deepEqual([first?.method, first?.url, first?.status], ['POST', system.url, 401]);
    const consentPages = client.pages.filter(({ url }) => url.origin === new URL(system.url).origin);
    assert.equal(consentPages.length, isBroker(setup) ? 1 : 0, 'pages of the gateway');
    assert.ok((await client.listTools()).includes('ticket_list'));
    assert.match(await client.callTool('convert_units', { value: 2, from: 'km', to: 'm' }), /2000 m/);

    if (!setup.refreshes) return;
    const old = await client.readTokens();
    const seen = client.pages.length;
    await client.spoilAccessToken();
    assert.match(await client.callTool('convert_units', { value: 3, from: 'km', to: 'm' }), /3000 m/);
    const fresh = await client.readTokens();
    assert.equal(fresh.saved, old.saved + 1, 'refreshed once');
    assert.notEqual(fresh.accessToken, old.accessToken);
    assert.equal(client.pages.length, seen, 'without asking the person again');
  } finally {
    await client.close();
  }
}
