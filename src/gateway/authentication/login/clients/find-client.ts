// Finds the client of a client_id: one that registered here (sealed), or one with a metadata document at an https URL.
import type { Sealer } from '../../../../base/sealed.ts';
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import { findPlace } from '../broker-urls.ts';
import { digestClientId, openClient } from '../state/client-envelope.ts';
import type { IdpClient } from '../../../config/shared-logins.ts';
import { type ClientDocuments, findClientUrlProblem, isClientUrl } from './client-id-metadata.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';

/** A client as far as its client_id alone describes it, without any fetch. */
export interface KnownClient {
  readonly clientId: string;
  readonly digest: string;
  /** Its client at the IdP: the one in its client_id, the shared one, or one that is registered for its document. */
  readonly standing: { readonly kind: 'own'; readonly idpClient: IdpClient } | { readonly kind: 'shared' | 'document' };
}

/** A client with the metadata that authorization requests are checked against. */
export interface DescribedClient extends KnownClient {
  readonly redirectUris: readonly string[];
  /** As the client calls itself. */
  readonly name: string | undefined;
  readonly scope: string | undefined;
  /** Host of the client_id, when it is a URL. */
  readonly host: string | undefined;
}

type ClientResult<T> =
  | { readonly ok: true; readonly client: T }
  | {
      readonly ok: false;
      readonly reason: 'unknown_client' | 'client_document_invalid';
      /** A sentence for the author of the client; undefined: the reason suffices. */
      readonly problem: string | undefined;
      /** What the user or the operator can do; undefined: nothing special. */
      readonly advice?: string;
      /** For the operator only. */
      readonly detail: string;
      /** Sealed with a key that was rotated out since. */
      readonly isForgotten?: boolean;
    };

/** Finds the client without its description and without any fetch: token requests need only the sealed data. */
export function findKnownClient(request: OAuthRequest, sealer: Sealer, clientId: string): ClientResult<KnownClient> {
  return isClientUrl(clientId) ? findByUrl(request, clientId) : findRegistered(request, sealer, clientId);
}

/**
 * Recovers a client whose id was sealed with a removed key, but whose refresh token was sealed with a newer one: the token carries its client
 * at the IdP. So rotating keys twice logs no user out.
 */
export function recallClient(
  { resource: { config } }: OAuthRequest,
  clientId: string,
  idpClient: IdpClient | undefined,
): KnownClient | undefined {
  if (idpClient === undefined && !isShared(config)) return undefined;
  const standing: KnownClient['standing'] = idpClient === undefined ? { kind: 'shared' } : { kind: 'own', idpClient };
  return { clientId, digest: digestClientId(clientId), standing };
}

/** Finds the client and what it says about itself. */
export async function findDescribedClient(
  request: OAuthRequest,
  sealer: Sealer,
  documents: ClientDocuments,
  clientId: string,
): Promise<ClientResult<DescribedClient>> {
  if (!isClientUrl(clientId)) return findRegistered(request, sealer, clientId);
  const found = findByUrl(request, clientId);
  if (!found.ok) return found;
  const loaded = await documents.load(request, clientId);
  if (!loaded.ok) {
    const refused = refuseDocument(loaded.problem);
    return loaded.unreachable === undefined
      ? refused
      : { ...refused, ...explainUnreachable(clientId, loaded.unreachable) };
  }
  return { ok: true, client: { ...found.client, ...loaded.document, host: new URL(clientId).host } };
}

function findByUrl({ resource: { config } }: OAuthRequest, clientId: string): ClientResult<KnownClient> {
  const { message } = config;
  if (!message.clientIdMetadataDocuments)
    return {
      ok: false,
      reason: 'unknown_client',
      problem: 'This gateway does not accept URLs as client_id. The client has to register.',
      detail: 'the client_id is a URL, and clientIdMetadataDocuments is not enabled',
    };
  const problem = findClientUrlProblem(clientId, message.clientIdMetadataDomains);
  if (problem !== undefined) return refuseDocument(problem);
  const kind = isShared(config) ? 'shared' : 'document';
  return { ok: true, client: { clientId, digest: digestClientId(clientId), standing: { kind } } };
}

function findRegistered(request: OAuthRequest, sealer: Sealer, clientId: string): ClientResult<DescribedClient> {
  const opened = openClient(sealer, findPlace(request), clientId);
  if (!opened.ok)
    return {
      ok: false,
      reason: 'unknown_client',
      problem: undefined,
      detail: `client_id: ${opened.problem}`,
      isForgotten: opened.problem === 'unknown_key',
    };
  const { idpClient, redirectUris, name, scope } = opened.client;
  if (idpClient === undefined && !isShared(request.resource.config))
    return {
      ok: false,
      reason: 'unknown_client',
      problem: undefined,
      detail: 'the client_id was given out in registration mode Shared, which is no longer in force',
    };
  const standing: KnownClient['standing'] = idpClient === undefined ? { kind: 'shared' } : { kind: 'own', idpClient };
  const digest = digestClientId(clientId);
  return { ok: true, client: { clientId, digest, standing, redirectUris, name, scope, host: undefined } };
}

function explainUnreachable(
  clientId: string,
  why: string,
): { readonly problem: string; readonly advice: string; readonly detail: string } {
  const { host } = new URL(clientId);
  return {
    problem: `The gateway cannot reach ${host}, where the application describes itself.`,
    advice: `Go back to the application and connect again: it may register instead. If that does not help, tell the operator of this gateway to allow https to ${host} (HTTPS_PROXY for a proxy), or to set clientIdMetadataDocuments.enabled to false.`,
    detail: `the document cannot be fetched: ${why}. Allow https to ${host}, or set HTTPS_PROXY. While documents cannot be fetched they are not offered, and clients register, unless clientIdMetadataDocuments.enabled is true`,
  };
}

function refuseDocument(problem: string): Extract<ClientResult<never>, { readonly ok: false }> {
  const sentence = `The client cannot be used: ${problem}.`;
  return { ok: false, reason: 'client_document_invalid', problem: sentence, detail: problem };
}

function isShared({ message }: McpAuthenticationConfig): boolean {
  return message.registration?.mode === RegistrationMode.SHARED;
}
