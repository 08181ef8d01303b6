// A policy message with JWT authentication -> the form the request path uses. Trust anchors and key endpoints are looked up here; key
// sources come from outside, because they outlive a configuration.
import { getHttp } from '../../../base/node-parts.ts';
import { AuthenticationMode, type JwtAuthentication, type Policy } from '../../../ir/gen/config_pb.ts';
import type { JwtAuthenticationConfig } from '../jwt-authentication-config.ts';
import type { JwtProviderInput } from '../../authentication/jwt/jwt-authentication-registry.ts';
import { findKeyProblem, listKeyUrls, type PolicySurroundings } from './compile-mcp-authentication.ts';
import { PolicyError } from './policy-error.ts';
import { describeError } from './compile-problem.ts';
import { readCaCertificates } from './read-ca-certificates.ts';

const knownModes: ReadonlySet<AuthenticationMode> = new Set(Object.values(AuthenticationMode));

/** Compiles JWT authentication, or throws: then its target is closed. */
export function compileJwtAuthentication(
  policy: Policy,
  message: JwtAuthentication,
  surroundings: PolicySurroundings,
): JwtAuthenticationConfig {
  const { acquireJwtAuthentication } = surroundings;
  if (acquireJwtAuthentication === undefined) throw new PolicyError('this process cannot enforce authentication');
  if (!knownModes.has(message.mode))
    throw new PolicyError(`the authentication mode ${String(message.mode)} is not known`);
  checkHeaders(message);
  return acquireJwtAuthentication({
    source: policy.source,
    message,
    providers: new Map(readProviders(message, surroundings)),
  });
}

function readProviders(
  { providers }: JwtAuthentication,
  { secrets, backends }: PolicySurroundings,
): [string, JwtProviderInput][] {
  if (providers.length === 0) throw new PolicyError('the policy names no provider');
  const names = new Set<string>();
  const issuers = new Set<string>();
  return providers.map(({ name, issuer, ca, keys }) => {
    const shown = JSON.stringify(name);
    if (names.has(name)) throw new PolicyError(`two providers have the name ${shown}`);
    if (issuer === '') throw new PolicyError(`the provider ${shown} names no issuer`);
    // A token is matched to its provider by its issuer alone.
    if (issuers.has(issuer)) throw new PolicyError(`two providers have the issuer ${JSON.stringify(issuer)}`);
    names.add(name);
    issuers.add(issuer);
    const keyProblem = findKeyProblem(keys);
    if (keyProblem !== undefined) throw new PolicyError(`the provider ${shown}: ${keyProblem}`);
    const input: JwtProviderInput = {
      ca: ca === '' ? undefined : readCaCertificates(ca, secrets),
      keyUrls: keys?.source.case === 'backend' ? listKeyUrls(keys.source.value, backends) : [],
    };
    return [name, input];
  });
}

/** Rejects header names that cannot be sent: they would fail every request. */
function checkHeaders({ claimsToHeaders, location }: JwtAuthentication): void {
  const names = claimsToHeaders.map(({ header }) => header);
  if (location?.location.case === 'header') names.push(location.location.value.name);
  for (const name of names) {
    try {
      getHttp().validateHeaderName(name);
    } catch (error) {
      throw new PolicyError(`${JSON.stringify(name)} cannot be the name of a header: ${describeError(error)}`, {
        cause: error,
      });
    }
  }
}
