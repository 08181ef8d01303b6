// The JWT step of the route's chain (`spec.traffic.jwtAuthentication`, RFC 7519): the location of the token, the providers that judge it, and
// the headers that are forwarded. The rest is in the engine (authenticate.ts).
import type { JwtAuthenticationConfig } from '../../config/jwt-authentication-config.ts';
import type { ProtectedResource } from '../../config/protected-resource.ts';
import { continueUnchanged, type Verdict } from '../../request/verdict.ts';
import type { RouteRequest } from '../../request/run-steps.ts';
import { findProtectedResource } from '../../route/find-protection.ts';
import { authenticate, type Authentication, type AuthenticationStrategy } from '../authenticate.ts';
import { bearerHeader, findToken, type FoundToken, hasQueryToken, isBearerHeader } from '../token/find-token.ts';
import { readCompactToken } from '../token/read-compact-token.ts';
import { createAdmission } from './jwt-admission.ts';
import { validateByIssuer, validateKnown } from './validate-by-issuer.ts';

/** Judges the token of a request when its route has JWT authentication. */
export function authenticateJwt({ context, route, matched }: RouteRequest): Verdict | Promise<Verdict> {
  const config = route.policies['traffic.jwtAuthentication'];
  if (config === undefined) return continueUnchanged;
  const { location } = config;
  const findLogin = (): ProtectedResource | undefined => findLoginOf({ context, route, matched }, config);
  return authenticate(jwtAuthentication, { context, config, location, findLogin });
}

interface AskedForJwt extends Authentication {
  readonly config: JwtAuthenticationConfig;
}

const jwtAuthentication: AuthenticationStrategy<AskedForJwt> = {
  step: 'traffic.jwtAuthentication',
  findToken: findOnlyToken,
  recall: ({ config }, text) => validateKnown(config, text),
  validate({ config }, text) {
    const read = readCompactToken(text);
    return read.ok ? validateByIssuer(config, text, read.token) : read;
  },
  admit({ context, config }, token, text) {
    context.jwt = createAdmission(config, token, text);
    return undefined;
  },
};

/**
 * RFC 6750 2: a request must use only one method. Of the locations that a policy can name, the RFC defines the Authorization header and
 * `access_token` in the query; a request with both is ambiguous. Any other location is left to the backend.
 */
function findOnlyToken({ context: { exchange, query }, location }: AskedForJwt): FoundToken {
  const found = findToken(exchange.headers, query, location);
  if (found.kind === 'none') return found;
  if (isBearerHeader(location))
    return hasQueryToken(query) ? { kind: 'ambiguous', detail: 'an access token in the query as well' } : found;
  if (location.kind !== 'queryParameter' || location.name !== 'access_token') return found;
  if (findToken(exchange.headers, '', bearerHeader).kind === 'none') return found;
  return { kind: 'ambiguous', detail: 'a bearer token in the Authorization header as well' };
}

/**
 * The MCP resource of the rule, when its login yields the token that is missing here. MCP clients start a login only from a challenge
 * that names the metadata, and this step answers before the backend's authentication.
 */
function findLoginOf(
  { context, route, matched }: RouteRequest,
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
