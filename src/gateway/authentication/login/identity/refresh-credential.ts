// What the identity provider is asked with when a client refreshes.
import type { JsonObject } from '../../../../base/json-object.ts';
import type { Grant } from '../../../config/grants.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';

/**
 * The refresh token of a token answer; without one, an access token that does not expire: a refresh then asks userinfo. Undefined: neither, so the login
 * cannot be continued. GitHub's OAuth apps are of the second kind. They revoke the oldest of more than ten tokens of a user, app and set of scopes: that
 * session then ends with its next refresh.
 */
export function findCredential(preset: ProviderPreset, answer: JsonObject): Grant['credential'] | undefined {
  const { refresh_token: refreshToken, access_token: accessToken, expires_in: expiresIn, id_token: idToken } = answer;
  if (isText(refreshToken)) return { kind: 'refresh_token', token: refreshToken };
  // Where there is an ID token, a login that the identity provider does not want to continue ends.
  const lasts = preset.identity?.tokensLast === true && (expiresIn ?? idToken ?? undefined) === undefined;
  return lasts && isText(accessToken) ? { kind: 'access_token', token: accessToken } : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
