// GitHub, and GitHub Enterprise Server by `endpoints` of the policy: OAuth 2.0 without OpenID Connect and metadata. Errors of the token endpoint come with
// status 200 and have names of their own; 403 means a rate limit. Tokens of OAuth apps do not expire, and the oldest of more than ten tokens of a user,
// app and set of scopes is revoked; those of GitHub Apps expire after 8 hours and have refresh tokens, which work once.
import { isJsonObject, type JsonObject } from '../../../../base/json-object.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';

export const github: ProviderPreset = {
  name: 'GitHub',
  fixedMetadata: {
    authorization_endpoint: 'https://github.com/login/oauth/authorize',
    token_endpoint: 'https://github.com/login/oauth/access_token',
    userinfo_endpoint: 'https://api.github.com/user',
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_post'],
  },
  // What it puts into `iss` of authorization responses (RFC 9207) is the address of its OAuth pages.
  acceptsIssuer: (configured, found) => found === `${configured.replace(/\/$/, '')}/login/oauth`,
  resourceParameter: 'none',
  supportsPkce: true,
  hasNoRegistration: true,
  needsBroker: 'GitHub has no dynamic registration',
  forwardRemarks: ['GitHub registers no clients: use registration.mode Shared.'],
  remarks: [
    'The access tokens of GitHub are opaque, so no gateway can validate them: use flow Issuer, with which the gateway issues tokens of its own.',
    'An OAuth app keeps ten tokens per user and set of scopes: with more sessions than that, the oldest ends.',
  ],
  tokenErrors: {
    bad_verification_code: 'invalid_grant',
    bad_refresh_token: 'invalid_grant',
    unverified_user_email: 'access_denied',
    incorrect_client_credentials: 'invalid_client',
    // The callback URL of the app is the operator's, as its secret is.
    redirect_uri_mismatch: 'invalid_client',
  },
  downStatuses: [403],
  identity: {
    scopes: ['read:user', 'user:email'],
    organizationScopes: ['read:org'],
    // A login name can be given up and taken by somebody else; the number cannot.
    readSubject: ({ id }) => (Number.isSafeInteger(id) ? String(id) : undefined),
    subjectMembers: 'id',
    claims: { preferred_username: 'login', picture: 'avatar_url', groups: 'organizations' },
    organizations: () => 'organizations',
    lists: [
      { path: '/emails', wantedFor: 'email', read: readEmails },
      { path: '/orgs', wantedFor: 'organizations', read: readOrganizations },
    ],
    tokensLast: true,
  },
};

/** The address of userinfo is whatever the user shows in public. */
function readEmails(entries: readonly unknown[]): JsonObject {
  const primary = entries.find((entry) => isJsonObject(entry) && entry.primary === true && entry.verified === true);
  return { email: isJsonObject(primary) ? primary.email : null, email_verified: primary !== undefined };
}

function readOrganizations(entries: readonly unknown[]): JsonObject {
  const logins = entries.map((entry) => (isJsonObject(entry) ? entry.login : undefined));
  return { organizations: logins.filter((login) => typeof login === 'string') };
}
