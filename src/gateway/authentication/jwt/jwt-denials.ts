// What a client reads when its token is missing or not accepted (RFC 6750 3): status, challenge, and words that say where the token belongs.
import { findProtectedResource } from '../../route/find-protection.ts';
import { describeLocation, isBearerHeader } from '../token/find-token.ts';
import type { TokenRefusal } from '../token/verified-token.ts';
import { exposeToScripts } from '../browser-access.ts';
import { type BearerChallenge, formatChallenge } from '../challenge.ts';
import { formatMetadataPath } from '../endpoint-paths.ts';
import type { ProtectedResource } from '../../config/protected-resource.ts';
import { readBase } from '../read-base.ts';
import type { PolicyDenial, PolicyRequest } from '../../request/policy-verdict.ts';
import type { JwtAuthenticationConfig } from '../../config/jwt-authentication-config.ts';

/** 401 without an error: nobody did anything wrong yet (RFC 6750 3.1). */
export function denyMissingToken(
  request: PolicyRequest,
  config: JwtAuthenticationConfig,
  detail: string | undefined,
): PolicyDenial {
  const resource = findLogin(request, config);
  const denial = deny(request, 'missing_token', detail ?? '', resource, { ...listScopes(resource) });
  // The words of the reason send clients to the challenge, which has something to say only where there is a login.
  if (resource !== undefined) return denial;
  return { ...denial, description: `A token is needed here, in ${describeLocation(config.location)}.` };
}

/** 400: more than one token. */
export function denyAmbiguousToken(
  request: PolicyRequest,
  config: JwtAuthenticationConfig,
  detail: string,
): PolicyDenial {
  const description = `Send exactly one token, in ${describeLocation(config.location)}.`;
  const challenge: BearerChallenge = { error: 'invalid_request', errorDescription: description };
  return { ...deny(request, 'invalid_request', detail, findLogin(request, config), challenge), description };
}

/** 401 for what cannot be a token: `description` says where it is. */
export function denyMalformedToken(
  request: PolicyRequest,
  config: JwtAuthenticationConfig,
  description: string,
): PolicyDenial {
  return denyToken(request, config, 'token_malformed', description, description);
}

/** 401 with the check that failed. */
export function denyInvalidToken(
  request: PolicyRequest,
  config: JwtAuthenticationConfig,
  { reason, detail, operatorDetail }: TokenRefusal,
): PolicyDenial {
  // The scheme of the challenge is Bearer wherever the token is; who reads it may look in the wrong place.
  const description = isBearerHeader(config.location)
    ? detail
    : `${detail} It was read from ${describeLocation(config.location)}.`;
  const shown = operatorDetail === undefined ? detail : `${detail} (${operatorDetail})`;
  return denyToken(request, config, reason, description, shown);
}

function denyToken(
  request: PolicyRequest,
  config: JwtAuthenticationConfig,
  reason: PolicyDenial['reason'],
  description: string,
  detail: string,
): PolicyDenial {
  const resource = findLogin(request, config);
  const challenge = { error: 'invalid_token', errorDescription: description, ...listScopes(resource) } as const;
  return { ...deny(request, reason, detail, resource, challenge), description };
}

const defaultRetrySeconds = 5;

/** 503: the keys of the token's own provider were never loaded. */
export function denyWithoutKeys(
  request: PolicyRequest,
  config: JwtAuthenticationConfig,
  { detail, operatorDetail, retryAfterSeconds = defaultRetrySeconds }: TokenRefusal,
): PolicyDenial {
  const denial = deny(request, 'keys_unavailable', operatorDetail ?? detail, findLogin(request, config), undefined);
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds));
  return { ...denial, responseHeaders: [...denial.responseHeaders, 'retry-after', String(seconds)] };
}

function deny(
  { context }: PolicyRequest,
  reason: PolicyDenial['reason'],
  detail: string,
  resource: ProtectedResource | undefined,
  challenge: BearerChallenge | undefined,
): PolicyDenial {
  const responseHeaders: string[] = [];
  if (challenge !== undefined) {
    const login =
      resource === undefined
        ? {}
        : { resourceMetadata: `${readBase(context, resource)}${formatMetadataPath(resource.path)}` };
    responseHeaders.push('www-authenticate', formatChallenge({ ...login, ...challenge }));
  }
  if (resource !== undefined) {
    // What follows is a login to the MCP server: the inspector shows it from its beginning.
    const { config, path } = resource;
    context.flowStep = { name: 'access', policy: config.source, resource: path, flow: config.idp.getFlow()?.flow };
  }
  const exposed = resource === undefined ? 'WWW-Authenticate' : 'WWW-Authenticate, Mcp-Session-Id';
  responseHeaders.push(...exposeToScripts(context, exposed));
  return { kind: 'deny', reason, detail, responseHeaders };
}

/**
 * The MCP resource that the rule leads to, when its login brings the very token that is missing here: an MCP client can begin one only
 * from a challenge that names the metadata, and this step answers before the backend's own.
 */
function findLogin(
  { context, route, matched }: PolicyRequest,
  { location }: JwtAuthenticationConfig,
): ProtectedResource | undefined {
  if (!isBearerHeader(location)) return undefined;
  for (const backend of route.backends.entries) {
    if (backend.policies['backend.mcp.authentication'] === undefined || backend.weight === 0) continue;
    const resource = findProtectedResource(context, matched, backend);
    if (resource !== undefined) return resource;
  }
  return undefined;
}

function listScopes(resource: ProtectedResource | undefined): Pick<BearerChallenge, 'scopes'> {
  return resource === undefined ? {} : { scopes: resource.config.message.requiredScopes };
}
