// The registration endpoint (RFC 7591): validates the client's metadata, registers the client at the IdP (not in mode Shared), and returns its
// client id. The gateway's credentials never leave it.
import { formatErrorBody } from '../../../request/answer.ts';
import { type JsonObject } from '../../../../base/json-object.ts';
import { type Reason, reasons } from '../../../http/reasons.ts';
import { findPlace } from '../broker-urls.ts';
import { maxClientIdLength, sealClient } from '../state/client-envelope.ts';
import {
  type ClientMetadata,
  isKnownMember,
  pickShownMembers,
  readClientMetadata,
} from '../clients/client-metadata.ts';
import {
  formatRetryAfter,
  type OAuthAnswer,
  type OAuthEndpoint,
  type OAuthRequest,
  uncachedJson,
} from '../oauth-endpoint.ts';
import { registerBrokeredClient, registerOwnClient } from '../clients/register-at-idp.ts';
import type { RegistrationFailure } from '../idp/registration-attempt.ts';
import { findRegistrationEndpoint } from '../idp/registration-endpoint.ts';
import { takeRegistrationTurn } from '../clients/registration-limit.ts';
import { registerShared } from '../clients/shared-registration.ts';

const retrySeconds = 10;
/** Room for the IdP's client id and secret in a sealed client id. */
const idpClientRoom = 1_024;

/** POST /.oauth{P}/register */
export const registerEndpoint: OAuthEndpoint = {
  name: 'register',
  methods: ['POST'],
  maxBodyBytes: ({ config }) => config.message.registration!.maxBodyBytes,
  cors: true,
  handle: register,
};

async function register(request: OAuthRequest): Promise<OAuthAnswer> {
  const { config } = request.resource;
  // Messages have one, or compile-authentication.ts refuses them.
  const registration = config.message.registration!;

  // 1. The rate limit.
  const perMinute = registration.perMinute;
  const waitSeconds = await takeRegistrationTurn(request, perMinute);
  if (waitSeconds > 0)
    return refuse(request, 'registration_limited', {
      error: 'too_many_requests',
      headers: ['retry-after', String(waitSeconds)],
      detail: `more than ${perMinute} registrations a minute from ${request.context.client.address}`,
    });

  // 2. The client's metadata, before it is sent anywhere.
  const read = readClientMetadata(request.body, registration.allowedRedirectUris, registration.trustedRedirectUris);
  if (!read.ok) return refuse(request, read.error, { error: read.error, description: read.description });

  // 3. Where and how it is registered. With the flow Issuer only here, so the IdP may be down.
  if (config.issuer !== undefined) return registerBehindBroker(request, 'shared', undefined, read.client);
  const state = await config.idp.getMetadata();
  if (!state.ok) return refuseUnavailable(request, state.detail, state.retryAfterSeconds);
  const endpoint = findRegistrationEndpoint(config, state.metadata);
  if (endpoint === undefined)
    return refuse(request, 'registration_denied', {
      error: 'access_denied',
      detail: 'the IdP has no registration endpoint: set registration.endpoint, or registration.mode Shared',
    });
  if (config.idp.getFlow()?.flow === 'Facade' && endpoint !== 'shared') {
    const outcome = await registerOwnClient(request, endpoint, state.metadata, read.client);
    return outcome.ok ? answerRegistered(relayAnswer(outcome.answer, read.client)) : refuseFailure(request, outcome);
  }
  return registerBehindBroker(request, endpoint, state.metadata, read.client);
}

/** The client gets an id issued by the gateway: its sealed registration. */
async function registerBehindBroker(
  request: OAuthRequest,
  endpoint: 'shared' | URL,
  metadata: Parameters<typeof registerBrokeredClient>[2] | undefined,
  client: ClientMetadata,
): Promise<OAuthAnswer> {
  const { sealer } = request.resource.config;
  if (sealer === undefined)
    return refuse(request, 'seal_key_missing', { error: 'server_error', detail: 'no seal key is configured' });
  const place = findPlace(request);
  const { redirectUris, name, scope } = client;
  // Checked before the request to the IdP: an id that is too long must not leave a registration behind.
  let clientId = registerShared(sealer, place, { redirectUris, name, scope });
  let expiresAtMs: number | undefined;
  if (clientId.length > (endpoint === 'shared' ? maxClientIdLength : maxClientIdLength - idpClientRoom))
    return refuse(request, 'invalid_client_metadata', {
      error: 'invalid_client_metadata',
      description: 'redirect_uris, client_name and scope are too long together. Register fewer redirect URIs.',
    });
  if (endpoint !== 'shared' && metadata !== undefined) {
    const outcome = await registerBrokeredClient(request, endpoint, metadata, client);
    if (!outcome.ok) return refuseFailure(request, outcome);
    ({ expiresAtMs } = outcome);
    clientId = sealClient(sealer, place, { idpClient: outcome.client, redirectUris, name, scope }, expiresAtMs);
    if (clientId.length > maxClientIdLength)
      return refuse(request, 'registration_denied', {
        error: 'access_denied',
        detail: 'the client id and secret of the IdP are too long to be sealed into a client id',
      });
  }
  return answerRegistered({
    ...pickShownMembers(client.members),
    client_id: clientId,
    client_id_issued_at: Math.floor(request.now() / 1_000),
    ...(name !== undefined && { client_name: name }),
    redirect_uris: redirectUris,
    ...(scope !== undefined && { scope }),
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  });
}

const issuedMembers: ReadonlySet<string> = new Set([
  'client_id',
  'client_id_issued_at',
  'client_secret',
  'client_secret_expires_at',
]);

/**
 * The members of the IdP's answer that the client may get: its id, and members that it can have asked for. Not registration_access_token and
 * registration_client_uri: with them the client could change its redirect URIs at the IdP, past the gateway. A secret next to `none` is a
 * mistake of the IdP and is dropped.
 */
function relayAnswer(answer: JsonObject & { readonly client_id: string }, client: ClientMetadata): JsonObject {
  const relayed = Object.fromEntries(
    Object.entries(answer).filter(
      ([name, value]) => value !== null && (isKnownMember(name) || issuedMembers.has(name)),
    ),
  );
  if (relayed['token_endpoint_auth_method'] === 'none') {
    delete relayed['client_secret'];
    delete relayed['client_secret_expires_at'];
  } else if (relayed['client_secret'] !== undefined) {
    // RFC 7591 3.2.1: required with a secret; clients check that it is there.
    relayed['client_secret_expires_at'] ??= 0;
  }
  return { redirect_uris: client.redirectUris, ...relayed };
}

function answerRegistered(members: JsonObject): OAuthAnswer {
  return {
    status: 201,
    headers: uncachedJson,
    body: `${JSON.stringify(members)}\n`,
  };
}

function refuseFailure(request: OAuthRequest, failure: RegistrationFailure): OAuthAnswer {
  switch (failure.kind) {
    case 'refused':
      return refuse(request, 'registration_refused', {
        error: failure.error,
        detail: failure.detail,
        ...(failure.description !== '' && { description: failure.description }),
      });
    case 'denied':
      reportDenial(request, failure.detail);
      return refuse(request, 'registration_denied', { error: 'access_denied', detail: failure.detail });
    case 'unavailable':
      return refuseUnavailable(request, failure.detail, retrySeconds);
  }
}

/** Logs the denial with advice for the operator: the client cannot fix it, and shows only "access denied". */
function reportDenial({ context, resource: { config } }: OAuthRequest, detail: string): void {
  // Messages have one, or compile-authentication.ts refuses them.
  const registration = config.message.registration!;
  const hasCredential = config.initialAccessToken !== undefined || registration?.initialAccessTokenFrom !== undefined;
  config.idp.log?.error(
    {
      request_id: context.requestId,
      policy: config.source,
      detail,
      advice: hasCredential
        ? 'check the initial access token of the policy, or the client that gets them (initialAccessTokenFrom), and the registration policies of the IdP'
        : 'allow anonymous registration at the IdP, or set registration.initialAccessTokenRef or initialAccessTokenFrom',
    },
    'the identity provider does not let the gateway register a client',
  );
}

function refuseUnavailable(request: OAuthRequest, detail: string, retryAfterSeconds: number): OAuthAnswer {
  return refuse(request, 'idp_unavailable', {
    error: 'temporarily_unavailable',
    headers: formatRetryAfter(retryAfterSeconds),
    detail,
  });
}

function refuse(
  request: OAuthRequest,
  reason: Reason,
  options: {
    /** RFC 7591 3.2.2, RFC 6749 4.1.2.1. */
    readonly error: string;
    readonly description?: string;
    readonly headers?: readonly string[];
    readonly detail?: string;
  },
): OAuthAnswer {
  const { status, description } = reasons[reason];
  const detail = options.detail ?? options.description;
  return {
    status,
    headers: [...uncachedJson, ...(options.headers ?? [])],
    body: formatErrorBody(options.error, options.description ?? description, request.context.requestId),
    reason,
    ...(detail !== undefined && { detail }),
  };
}
