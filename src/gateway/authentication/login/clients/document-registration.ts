// Clients with a metadata document in registration mode Forward: the IdP does not know the document, so the gateway registers the client at
// its first login. Codes and refresh tokens carry the registration; this cache only avoids a new registration for every login.
import { findPlace } from '../broker-urls.ts';
import type { DescribedClient } from './find-client.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import { registerBrokeredClient } from './register-at-idp.ts';
import { findRegistrationEndpoint } from '../idp/registration-endpoint.ts';
import type { DocumentRegistrationResult } from '../../../config/shared-logins.ts';

/** Registers a client at the IdP. */
type RegisterClient = (
  request: OAuthRequest,
  client: DescribedClient,
  metadata: IdpMetadata,
) => Promise<DocumentRegistrationResult>;

/** The registrations that this process has made. */
export interface DocumentRegistrations {
  find(request: OAuthRequest, client: DescribedClient, metadata: IdpMetadata): Promise<DocumentRegistrationResult>;
  /** The IdP no longer knows it. */
  forget(request: OAuthRequest, clientId: string): void;
}

/** How long a registration is reused, and how many are cached. */
export const lifetimeMs = 86_400_000;
export const maxRemembered = 512;

/** Makes the memory of a process. */
export function createDocumentRegistrations(register: RegisterClient = registerDocumentClient): DocumentRegistrations {
  const known = new Map<
    string,
    { readonly result: Promise<DocumentRegistrationResult>; readonly expiresAtMs: number }
  >();

  return {
    async find(request, client, metadata) {
      const key = describe(request, client.clientId);
      const { shared } = request.resource.config.idp;
      if (shared !== undefined) return shared.findRegistration(key, () => register(request, client, metadata));
      const nowMs = request.now();
      const before = known.get(key);
      if (before !== undefined && nowMs < before.expiresAtMs) return before.result;
      // Cached while pending: concurrent logins share it.
      const result = register(request, client, metadata);
      known.delete(key);
      known.set(key, { result, expiresAtMs: nowMs + lifetimeMs });
      if (known.size > maxRemembered) known.delete(known.keys().next().value!);
      let isRegistered = false;
      try {
        const outcome = await result;
        isRegistered = outcome.ok;
        return outcome;
      } finally {
        if (!isRegistered && known.get(key)?.result === result) known.delete(key);
      }
    },
    forget(request, clientId) {
      const key = describe(request, clientId);
      known.delete(key);
      request.resource.config.idp.shared?.forgetRegistration(key);
    },
  };
}

/** The memory of this process. */
export const documentRegistrations: DocumentRegistrations = createDocumentRegistrations();

async function registerDocumentClient(
  request: OAuthRequest,
  { clientId, name, scope }: DescribedClient,
  metadata: IdpMetadata,
): Promise<DocumentRegistrationResult> {
  const endpoint = findRegistrationEndpoint(request.resource.config, metadata);
  if (!(endpoint instanceof URL)) {
    const detail = 'a client with a metadata document cannot be registered: the IdP has no registration endpoint';
    return { ok: false, reason: 'idp_refused_client', detail };
  }
  // client_uri is the host of the document, the only verified fact about the client.
  const members = { client_uri: new URL(clientId).origin };
  const outcome = await registerBrokeredClient(request, endpoint, metadata, { name, scope, members });
  if (outcome.ok) return { ok: true, idpClient: outcome.client };
  return {
    ok: false,
    reason: outcome.kind === 'unavailable' ? 'idp_unavailable' : 'idp_refused_client',
    detail: outcome.detail,
  };
}

function describe(request: OAuthRequest, clientId: string): string {
  const { issuer, resource } = findPlace(request);
  return JSON.stringify([issuer, resource, clientId]);
}
