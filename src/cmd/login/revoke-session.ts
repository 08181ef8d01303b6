// The end of the session that a login began (RFC 7009): a refresh token that nobody will use again would keep it open for weeks.
import type { FoundServer } from './discover-server.ts';
import type { Narrator } from './narration.ts';
import type { OAuthClient } from './obtain-client.ts';
import { authenticateClient } from './exchange-code.ts';
import { fetchTold } from './told-fetch.ts';

/** Revokes it, where the server offers that. It stays otherwise, which is no failure of the login. */
export async function revokeSession(
  narrator: Narrator,
  endpoint: NonNullable<FoundServer['revocationEndpoint']>,
  client: OAuthClient,
  refreshToken: string,
): Promise<void> {
  const form = new URLSearchParams({ token: refreshToken, token_type_hint: 'refresh_token' });
  const headers = authenticateClient(client, form);
  const asked = await fetchTold(narrator, endpoint, {
    method: 'POST',
    headers,
    body: form.toString(),
    note: 'the refresh token',
  });
  if (asked.ok && asked.answer.status === 200) narrator.find('good', 'The session is ended.');
  else narrator.find('remark', 'The session could not be ended; it stays open until its refresh token expires.');
}
