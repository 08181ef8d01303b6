// Protected resource metadata (RFC 9728): the resource's identifier, its authorization server and its scopes.
import { LoginFlow } from '../../../../ir/gen/config_pb.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import type { ProtectedResource } from '../../../config/protected-resource.ts';
import { answerMetadata } from './metadata-answer.ts';
import { listScopes, readConfiguredMembers } from '../resource-members.ts';
import { formatFacadeIssuer, formatResourceUrl } from '../../read-base.ts';

/** GET /.well-known/oauth-protected-resource{P}. Does not need the IdP, so it is served even while the IdP is down. */
export const protectedResourceMetadataEndpoint: OAuthEndpoint = {
  name: 'protected-resource-metadata',
  methods: ['GET'],
  maxBodyBytes: () => 0,
  cors: true,
  handle: ({ base, resource }: OAuthRequest): OAuthAnswer => answerResource(base, resource),
};

interface LastAnswer {
  readonly base: string;
  readonly authorizationServer: string;
  readonly answer: OAuthAnswer;
}

/** Cached, because every client requests it first; it changes only with the base or the IdP's issuer. */
const lastAnswers = new WeakMap<ProtectedResource, LastAnswer>();

/** The answer to a request for the document. */
export function answerResource(base: string, resource: ProtectedResource): OAuthAnswer {
  const authorizationServer = findAuthorizationServer(base, resource);
  const last = lastAnswers.get(resource);
  if (last?.base === base && last.authorizationServer === authorizationServer) return last.answer;
  const answer = answerMetadata(resource, describeResource(base, resource));
  lastAnswers.set(resource, { base, authorizationServer, answer });
  return answer;
}

/** The document. Members of the policy's `resourceMetadata` are included; the gateway's own members take precedence. */
export function describeResource(base: string, resource: ProtectedResource): Readonly<Record<string, unknown>> {
  const { message } = resource.config;
  const configured = readConfiguredMembers(message.resourceMetadata);
  const document: Record<string, unknown> = {
    resource: formatResourceUrl(base, resource),
    authorization_servers: [findAuthorizationServer(base, resource)],
    ...configured,
    scopes_supported: listScopes(
      [...message.requiredScopes, ...(resource.config.issuer?.scopes ?? [])],
      configured['scopes_supported'],
    ),
    bearer_methods_supported: configured['bearer_methods_supported'] ?? ['header'],
  };
  // RFC 9728 3.2: parameters with zero elements must be omitted.
  return Object.fromEntries(
    Object.entries(document).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );
}

function findAuthorizationServer(base: string, resource: ProtectedResource): string {
  return resource.config.message.flow === LoginFlow.DIRECT
    ? readIdpIssuer(resource)
    : formatFacadeIssuer(base, resource);
}

/** With Direct, clients fetch the IdP's own metadata, so this has to be exactly the issuer in that document. */
function readIdpIssuer({ config }: ProtectedResource): string {
  const state = config.idp.getMetadata();
  return !(state instanceof Promise) && state.ok ? state.metadata.issuer : config.message.issuer;
}
