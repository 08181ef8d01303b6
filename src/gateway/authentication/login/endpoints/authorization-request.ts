// Checks an authorization request (RFC 6749 4.1.1, RFC 7636 4.3, RFC 8707 2) and fills in defaults. The client and its redirect URI are
// already known, so errors can be reported to the client.
import { readJsonObject } from '../../../../base/json-object.ts';
import type { Reason } from '../../../http/reasons.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';
import type { TokenIssuer } from '../../../config/token-issuer.ts';
import { completeScopes, listAddedScopes } from '../idp/login-scopes.ts';
import { isScope, joinScopes, namesOnlyResource, type RequestParameters, splitScope } from '../request-parameters.ts';

/** An authorization request that can go on. */
interface AskedAuthorization {
  readonly challenge: string;
  /** Everything to ask the IdP for, or with the flow Issuer what the client may get; empty: nothing. */
  readonly scope: string;
  /** The scope is exactly what the client asked for. */
  readonly isScopeAsAsked: boolean;
  /** Parameters of the client that go to the IdP as they are. */
  readonly passedOn: Readonly<Record<string, string>>;
}

/** An error that the client is told by redirect (RFC 6749 4.1.2.1). */
interface AuthorizationError {
  readonly error: string;
  readonly description: string;
  readonly reason: Reason;
}

type AskedAuthorizationResult =
  | { readonly ok: true; readonly asked: AskedAuthorization }
  | { readonly ok: false; readonly error: AuthorizationError };

/** Checks the parameters. `resource` is the URL of this resource, `registeredScope` what the client registered; `metadata` undefined: the IdP is down. */
export function readAuthorizationRequest(
  config: McpAuthenticationConfig,
  resource: string,
  registeredScope: string | undefined,
  metadata: IdpMetadata | undefined,
  parameters: RequestParameters,
): AskedAuthorizationResult {
  const error = findError(parameters, resource);
  if (error !== undefined) return { ok: false, error };
  const askedScopes = splitScope(parameters.get('scope'));
  if (config.issuer !== undefined) return { ok: true, asked: readForIssuer(config.issuer, askedScopes, parameters) };
  const known = joinScopes(
    askedScopes.length > 0 ? askedScopes : findDefaultScopes(config, registeredScope),
    listAddedScopes(config, metadata),
  );
  const scope = joinScopes(completeScopes(config, splitScope(known), metadata));
  return {
    ok: true,
    asked: {
      challenge: parameters.get('code_challenge')!,
      scope,
      isScopeAsAsked: new Set(askedScopes).size === splitScope(scope).length,
      passedOn: pickParameters(parameters, passedOnParameters),
    },
  };
}

/** Scopes are the gateway's own: what the client may get of those that it asks for, of all when it asks for none. The identity provider sees none of them. */
function readForIssuer(
  { scopes }: TokenIssuer,
  askedScopes: readonly string[],
  parameters: RequestParameters,
): AskedAuthorization {
  return {
    challenge: parameters.get('code_challenge')!,
    scope: joinScopes(askedScopes.length === 0 ? scopes : askedScopes.filter((scope) => scopes.includes(scope))),
    isScopeAsAsked: false,
    passedOn: pickParameters(
      parameters,
      passedOnParameters.filter((name) => !ofIdTokens.has(name)),
    ),
  };
}

function pickParameters(parameters: RequestParameters, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = parameters.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** A longer state would not fit into the URL of the IdP together with the gateway's own parameters. */
const maxStateLength = 4096;

/**
 * OpenID Connect Core 3.1.2.1. Other parameters are ignored (RFC 6749 3.1), above all `audience`, with which a client could obtain tokens for
 * another resource.
 */
const passedOnParameters: readonly string[] = [
  'nonce',
  'prompt',
  'display',
  'max_age',
  'ui_locales',
  'claims_locales',
  'id_token_hint',
  'login_hint',
  'acr_values',
];

/** About ID tokens, which with the flow Issuer are the gateway's and not the client's. */
const ofIdTokens: ReadonlySet<string> = new Set(['nonce', 'id_token_hint']);

function findError(parameters: RequestParameters, resource: string): AuthorizationError | undefined {
  const [repeated] = parameters.repeated;
  if (repeated !== undefined) return refuse(`${describeName(repeated)} is repeated`);
  if (parameters.get('request') !== undefined)
    return refuse('request objects are not supported', 'request_not_supported');
  if (parameters.get('request_uri') !== undefined)
    return refuse('request objects are not supported', 'request_uri_not_supported');
  const responseType = parameters.get('response_type');
  if (responseType === undefined) return refuse('response_type is missing');
  if (responseType !== 'code') return refuse('response_type must be code', 'unsupported_response_type');
  const responseMode = parameters.get('response_mode');
  if (responseMode !== undefined && responseMode !== 'query') return refuse('response_mode must be query');
  const challenge = parameters.get('code_challenge');
  if (challenge === undefined) return refuse('code_challenge is missing: PKCE is required (RFC 7636)');
  if (parameters.get('code_challenge_method') !== 'S256') return refuse('code_challenge_method must be S256');
  if (!/^[\w-]{43}$/.test(challenge)) return refuse('code_challenge is not a SHA-256 in base64url');
  if ((parameters.get('state')?.length ?? 0) > maxStateLength)
    return refuse(`state may have ${maxStateLength} characters at most`);
  if (!namesOnlyResource(parameters.getAll('resource'), resource))
    return {
      error: 'invalid_target',
      description: 'resource must be the URL of the protected resource that this authorization server is for',
      reason: 'wrong_resource',
    };
  const scope = parameters.get('scope');
  if (scope !== undefined && !isScope(scope)) return refuse('scope is malformed', 'invalid_scope');
  return undefined;
}

function refuse(description: string, error = 'invalid_request'): AuthorizationError {
  return { error, description, reason: 'authorization_request_invalid' };
}

/** The name of a parameter is echoed to the client, so only a plain one is quoted. */
function describeName(name: string): string {
  return /^\w{1,40}$/.test(name) ? name : 'a parameter';
}

/** The order that MCP defines for clients: scopes of the challenge, else of the resource metadata, else of the registration. */
function findDefaultScopes({ message }: McpAuthenticationConfig, registered: string | undefined): readonly string[] {
  if (message.requiredScopes.length > 0) return message.requiredScopes;
  const metadata = message.resourceMetadata === '' ? undefined : readJsonObject(message.resourceMetadata);
  const supported: unknown = metadata?.ok === true ? metadata.value['scopes_supported'] : undefined;
  if (Array.isArray(supported) && supported.length > 0) return supported.filter((scope) => typeof scope === 'string');
  return splitScope(registered !== undefined && isScope(registered) ? registered : undefined);
}
