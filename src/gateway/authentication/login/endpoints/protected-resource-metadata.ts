// Protected resource metadata (RFC 9728): what the resource is called, who issues tokens for it, which scopes it knows.
import { LoginFlow } from '../../../../ir/gen/config_pb.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../oauth-endpoint.ts';
import type { ProtectedResource } from '../../../config/protected-resource.ts';
import { answerMetadata } from './metadata-answer.ts';
import { listScopes, readConfiguredMembers } from '../resource-members.ts';
import { formatFacadeIssuer, formatResourceUrl } from '../../read-base.ts';

/** GET /.well-known/oauth-protected-resource{P}. Needs nothing of the IdP, so it is served while that is down. */
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

/** Every client asks for it first, and it is the same until the base is another one, or the IdP gives itself another name. */
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

/** The document. Members of the policy's `resourceMetadata` pass through; what the gateway knows better is its own. */
export function describeResource(base: string, resource: ProtectedResource): Readonly<Record<string, unknown>> {
  const { message } = resource.config;
  const configured = readConfiguredMembers(message.resourceMetadata);
  const document: Record<string, unknown> = {
    resource: formatResourceUrl(base, resource),
    authorization_servers: [findAuthorizationServer(base, resource)],
    ...configured,
    scopes_supported: listScopes(message.requiredScopes, configured['scopes_supported']),
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

/** With Direct, clients look for this issuer's own metadata: it has to be the name that the IdP gives itself there. */
function readIdpIssuer({ config }: ProtectedResource): string {
  const state = config.idp.getMetadata();
  return !(state instanceof Promise) && state.ok ? state.metadata.issuer : config.message.issuer;
}
