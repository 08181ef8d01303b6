// Registers a client at the IdP on its behalf (RFC 7591). IdPs differ and their metadata is not reliable, so the gateway adapts to their
// answers: after a refusal because of `scope` or a grant it retries with a smaller request. The reduction is not remembered: the next client
// starts with the full request again.
import type { JsonObject } from '../../../../base/json-object.ts';
import { noteStep, type StepHolder } from '../flow-recorder.ts';
import { formatCallbackUrl } from '../broker-urls.ts';
import type { ClientAuthMethod, IdpClient } from '../../../config/shared-logins.ts';
import { type ClientMetadata, pickShownMembers } from './client-metadata.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import { getInitialAccessToken } from '../idp/initial-access-token.ts';
import { completeScopes, listAddedScopes } from '../idp/login-scopes.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import { listNamedScopes } from '../resource-members.ts';
import type { ProtectedResource } from '../../../config/protected-resource.ts';
import { isLoopbackRedirect } from '../redirect-uri.ts';
import {
  attemptRegistration,
  type RegistrationFailure,
  type RegistrationOutcome,
} from '../idp/registration-attempt.ts';
import { joinScopes, splitScope } from '../request-parameters.ts';

/** Who registers: a request, or `check`, which has no request. */
interface Registrant {
  readonly context: StepHolder;
  readonly resource: Pick<ProtectedResource, 'config' | 'messageScopes'>;
}

/** Registers the client itself with its own redirect URIs (Facade): it will talk to the IdP directly. */
export async function registerOwnClient(
  request: Registrant,
  endpoint: URL,
  metadata: IdpMetadata,
  client: ClientMetadata,
): Promise<RegistrationOutcome> {
  const { redirectUris, name, members } = client;
  const { token_endpoint_auth_method: asked, ...others } = members;
  const scope = joinScopes(keepNamedScopes(splitScope(client.scope), request, metadata));
  const authMethod = chooseOwnAuthMethod(asked, metadata);
  const outcome = await registerStepwise(request, endpoint, metadata, {
    redirect_uris: redirectUris,
    ...(name !== undefined && { client_name: name }),
    ...others,
    ...(authMethod !== undefined && { token_endpoint_auth_method: authMethod }),
    ...(scope !== '' && { scope }),
  });
  if (!outcome.ok || authMethod === undefined) return outcome;
  // An IdP that returns no method accepted the requested one.
  return { ok: true, answer: { token_endpoint_auth_method: authMethod, ...outcome.answer } };
}

export type BrokeredRegistration =
  | {
      readonly ok: true;
      readonly client: IdpClient;
      /** When the secret of the client ends; undefined: never. */
      readonly expiresAtMs: number | undefined;
    }
  | RegistrationFailure;

/** Registers a client at the IdP on behalf of this one (Broker): the IdP sees only the gateway's callback. */
export async function registerBrokeredClient(
  request: OAuthRequest,
  endpoint: URL,
  metadata: IdpMetadata,
  client: Pick<ClientMetadata, 'name' | 'scope'> & Partial<Pick<ClientMetadata, 'members'>>,
): Promise<BrokeredRegistration> {
  const asked = chooseAuthMethod(metadata);
  const outcome = await registerStepwise(
    request,
    endpoint,
    metadata,
    describeBrokeredClient(request, metadata, client, asked),
  );
  return outcome.ok ? readIdpClient(outcome.answer, asked) : outcome;
}

function describeBrokeredClient(
  request: OAuthRequest,
  metadata: IdpMetadata,
  client: Parameters<typeof registerBrokeredClient>[3],
  authMethod: ClientAuthMethod,
): JsonObject {
  const { config } = request.resource;
  const { message, preset } = config;
  const callback = formatCallbackUrl(request);
  // A client without scope gets the IdP's default, where it has one. One with scope also needs the scopes that the gateway will request on its behalf.
  const isLeftToIdp = client.scope === undefined && preset.bindsRegisteredScopes !== true;
  const needed = joinScopes(
    keepNamedScopes(splitScope(client.scope), request, metadata),
    message.requiredScopes,
    listAddedScopes(config, metadata),
  );
  const scope = isLeftToIdp ? '' : joinScopes(completeScopes(config, splitScope(needed), metadata));
  return {
    redirect_uris: [callback],
    client_name: client.name ?? 'MCP client',
    ...pickShownMembers(client.members ?? {}),
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: authMethod,
    ...(isLoopbackRedirect(callback) && { application_type: 'native' }),
    ...(scope !== '' && { scope }),
  };
}

/** Keeps the scopes that the IdP or the policy names. A client could invent others, which the gateway would request with its own credential. */
function keepNamedScopes(
  scopes: readonly string[],
  { resource }: Registrant,
  metadata: IdpMetadata,
): readonly string[] {
  const { message } = resource.config;
  const named = new Set([
    ...(metadata.scopes_supported ?? []),
    ...listNamedScopes(message),
    ...resource.messageScopes,
    ...listAddedScopes(resource.config, metadata),
  ]);
  return scopes.filter((scope) => named.has(scope));
}

/** `none` where the IdP supports public clients, whatever the client asked for: it logs in with PKCE. Undefined: the IdP's default. */
function chooseOwnAuthMethod(
  asked: unknown,
  { token_endpoint_auth_methods_supported: listed }: IdpMetadata,
): 'none' | 'client_secret_basic' | 'client_secret_post' | undefined {
  if (listed?.includes('none') === true || asked === 'none') return 'none';
  if (asked !== 'client_secret_basic' && asked !== 'client_secret_post') return undefined;
  return listed === undefined || listed.includes(asked) ? asked : undefined;
}

/** A public client where the IdP supports them; otherwise a confidential one, whose secret stays with the gateway. */
function chooseAuthMethod({ token_endpoint_auth_methods_supported: listed }: IdpMetadata): ClientAuthMethod {
  if (listed === undefined) return 'client_secret_basic';
  const known = ['none', 'client_secret_basic', 'client_secret_post', 'client_secret_jwt'] as const;
  return known.find((method) => listed.includes(method)) ?? 'client_secret_basic';
}

/** Uses the method that the IdP answered; a secret next to `none` is ignored. */
function readIdpClient(
  answer: JsonObject & { readonly client_id: string },
  asked: ClientAuthMethod,
): BrokeredRegistration {
  const { client_secret: secret, client_secret_expires_at: expiresAt } = answer;
  const authMethod = answer['token_endpoint_auth_method'] ?? asked;
  const clientId = answer.client_id;
  if (authMethod === 'none')
    return { ok: true, client: { clientId, authMethod, secret: undefined }, expiresAtMs: undefined };
  if (!isSecretMethod(authMethod))
    return denyUnusable(
      `the IdP registered a client with ${JSON.stringify(authMethod).slice(0, 64)}, which the gateway cannot use`,
    );
  if (typeof secret !== 'string' || secret === '')
    return denyUnusable(`the IdP registered a client with ${authMethod}, but gave it no secret`);
  const expires = typeof expiresAt === 'number' && expiresAt > 0 ? expiresAt * 1_000 : undefined;
  return { ok: true, client: { clientId, authMethod, secret }, expiresAtMs: expires };
}

function isSecretMethod(method: unknown): method is Exclude<ClientAuthMethod, 'none'> {
  return method === 'client_secret_basic' || method === 'client_secret_post' || method === 'client_secret_jwt';
}

function denyUnusable(detail: string): RegistrationFailure {
  return { ok: false, kind: 'denied', error: '', description: '', detail, mayBeScope: false };
}

// ---- adapting to what the IdP answers

/** The parts of a registration that the IdP refused. */
interface Reduction {
  readonly scope: 'all' | 'without openid' | 'none';
  readonly grants: 'all' | 'listed';
}

const nothingReduced: Reduction = { scope: 'all', grants: 'all' };

async function registerStepwise(
  request: Registrant,
  endpoint: URL,
  metadata: IdpMetadata,
  members: JsonObject,
): Promise<RegistrationOutcome> {
  const { config } = request.resource;
  let reduction = nothingReduced;
  for (;;) {
    const reduced = reduceMembers(members, metadata, config.preset, reduction);
    const token = await getInitialAccessToken(config, metadata);
    if (!token.ok)
      return {
        ok: false,
        kind: token.isTemporary ? 'unavailable' : 'denied',
        error: '',
        description: '',
        detail: token.detail,
        mayBeScope: false,
      };
    const outcome = await attemptRegistration(config, endpoint, reduced, token.authorization);
    if (outcome.ok) return outcome;
    const next = chooseSmaller(outcome, reduced, metadata, reduction);
    if (next === undefined) return outcome;
    noteStep(request.context, `${outcome.detail}. Trying again with less: scope ${next.scope}, grants ${next.grants}.`);
    reduction = next;
  }
}

/** The request that may succeed after this failure; undefined: none. */
function chooseSmaller(
  failure: RegistrationFailure,
  sent: JsonObject,
  metadata: IdpMetadata,
  reduction: Reduction,
): Reduction | undefined {
  const scopes = splitScope(typeof sent['scope'] === 'string' ? sent['scope'] : undefined);
  if (failure.mayBeScope && scopes.length > 0) {
    const hasMore = scopes.includes('openid') && scopes.length > 1;
    return { ...reduction, scope: reduction.scope === 'all' && hasMore ? 'without openid' : 'none' };
  }
  if (failure.error === 'invalid_client_metadata' && reduction.grants === 'all' && hasUnlistedGrant(sent, metadata))
    return { ...reduction, grants: 'listed' };
  return undefined;
}

function reduceMembers(
  members: JsonObject,
  metadata: IdpMetadata,
  preset: { readonly omitRegistrationScopes?: readonly string[] },
  reduction: Reduction,
): JsonObject {
  const reduced: Record<string, unknown> = { ...members };
  const refused = new Set(preset.omitRegistrationScopes ?? []);
  if (reduction.scope === 'without openid') refused.add('openid');
  if (typeof reduced['scope'] === 'string') {
    const scopes = splitScope(reduced['scope']).filter((scope) => !refused.has(scope));
    if (reduction.scope === 'none' || scopes.length === 0) delete reduced['scope'];
    else reduced['scope'] = scopes.join(' ');
  }
  if (reduction.grants === 'listed' && hasUnlistedGrant(reduced, metadata))
    reduced['grant_types'] = listGrants(reduced).filter((grant) => isListedGrant(grant, metadata));
  return reduced;
}

function listGrants(members: JsonObject): readonly string[] {
  const grants = members['grant_types'];
  return Array.isArray(grants) ? grants.filter((grant) => typeof grant === 'string') : [];
}

function isListedGrant(grant: string, { grant_types_supported: listed }: IdpMetadata): boolean {
  return grant === 'authorization_code' || listed === undefined || listed.includes(grant);
}

function hasUnlistedGrant(members: JsonObject, metadata: IdpMetadata): boolean {
  return listGrants(members).some((grant) => !isListedGrant(grant, metadata));
}
