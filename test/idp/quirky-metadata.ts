// The quirky identity provider's documents: metadata (RFC 8414, OpenID Connect Discovery) and keys (RFC 7517).
import { answerJson, type IdpAnswer, type IdpCall, type IdpState, listEndpoints } from './quirky-state.ts';

/** Answers for the well-known paths; undefined for others. */
export function serveMetadata(state: IdpState, call: IdpCall): IdpAnswer | undefined {
  const path = state.quirks.issuerPath.replace(/\/$/, '');
  const forms = {
    'oauth-authorization-server': [`/.well-known/oauth-authorization-server${path}`],
    'openid-configuration': [`${path}/.well-known/openid-configuration`, `/.well-known/openid-configuration${path}`],
  };
  for (const document of state.quirks.metadataDocuments) {
    // OpenID's form goes after the path; inserting it before is RFC 8414's way, and not every server knows it.
    if (document === 'openid-configuration' ? call.path === forms[document][0] : forms[document].includes(call.path)) {
      return state.quirks.metadataAnswer ?? answerJson(200, describeServer(state, document));
    }
  }
  return undefined;
}

function describeServer(state: IdpState, document: string): Record<string, unknown> {
  const { quirks, origin, secondOrigin, issuer } = state;
  const paths = listEndpoints(state);
  const other = quirks.twoRegistrationEndpoints && document === 'openid-configuration';
  const standard: Record<string, unknown> = {
    issuer: quirks.metadataIssuer ?? issuer,
    authorization_endpoint: origin + paths.authorize,
    token_endpoint: secondOrigin + paths.token,
    ...(quirks.userinfoMembers === undefined ? {} : { userinfo_endpoint: secondOrigin + paths.userinfo }),
    jwks_uri: secondOrigin + paths.jwks,
    ...(quirks.registration === 'none'
      ? {}
      : { registration_endpoint: origin + (other ? paths.otherRegister : paths.register) }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'offline_access', 'tickets:read', 'tickets:write'],
    ...(quirks.tokenEndpointAuthMethods === undefined
      ? {}
      : { token_endpoint_auth_methods_supported: quirks.tokenEndpointAuthMethods }),
    ...(quirks.hidesPkce ? {} : { code_challenge_methods_supported: ['S256'] }),
    ...(quirks.advertisesIss ? { authorization_response_iss_parameter_supported: true } : {}),
    'https://idp.test/a-member-of-our-own': { kept: true },
  };
  return { ...standard, ...quirks.metadataMembers };
}

/** The published keys. */
export function serveKeys(state: IdpState): IdpAnswer {
  const { quirks } = state;
  if (quirks.jwksAnswer !== undefined) return quirks.jwksAnswer;
  const signing = state.keys.map(({ publicJwk }) => {
    const jwk: Record<string, unknown> = { ...publicJwk };
    if (quirks.keysWithoutAlg) delete jwk['alg'];
    if (quirks.keysWithoutKid) delete jwk['kid'];
    return jwk;
  });
  const first = { ...state.keys[0]!.publicJwk };
  const encryption = quirks.encryptionKeysMixedIn
    ? [
        { ...first, kid: 'enc-use', alg: 'RSA-OAEP', use: 'enc' },
        { kty: first.kty, n: first['n'], e: first['e'], kid: 'enc-alg', alg: 'RSA-OAEP-256' },
        { kty: first.kty, n: first['n'], e: first['e'], kid: 'enc-ops', key_ops: ['encrypt', 'wrapKey'] },
      ]
    : [];
  const bad = quirks.badKeysMixedIn
    ? [
        null,
        'a string',
        {},
        { kty: 'RSA', kid: 'no-modulus', use: 'sig', alg: 'RS256' },
        { kty: 'RSA', kid: 'tiny', use: 'sig', alg: 'RS256', n: 'AQAB', e: 'AQAB' },
        { kty: 'EC', kid: 'no-curve', crv: 'P-000', x: 'AA', y: 'AA' },
        { kty: 'AKP', kid: 'from-the-future', alg: 'ML-DSA-999', pub: 'AA' },
        { kty: 'oct', kid: 'symmetric', k: 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0', alg: 'HS256' },
      ]
    : [];
  return answerJson(200, { keys: [...bad, ...encryption, ...signing] }, { 'cache-control': 'max-age=60' });
}
