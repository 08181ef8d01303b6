// Chooses the login flow and gives the reason (by RFC 8414, RFC 9207, RFC 7591, RFC 7636). Facade serves the IdP's own document and leaves login and tokens to
// client and IdP; it is chosen only when there is no objection. Broker always works.
import type { FlowChoice, IdpConnectionOptions, IdpMetadata } from '../../../config/idp-connection.ts';

export interface FlowInput extends Pick<
  IdpConnectionOptions,
  'flow' | 'registration' | 'registrationEndpoint' | 'preset'
> {
  /** Undefined: not known yet. */
  readonly metadata: IdpMetadata | undefined;
  /** Any document of the IdP announces `iss` in authorization responses. */
  readonly emitsIssuer: boolean;
  /** The policy adds scopes or parameters to authorization requests, which only the broker sees. */
  readonly addsToRequests: boolean;
}

/** The flow and its reason; undefined while Auto cannot know. */
export function chooseFlow(input: FlowInput): FlowChoice | undefined {
  // Also Auto, where translation knows that no other flow works.
  if (input.flow === 'Issuer')
    return {
      flow: 'Issuer',
      reason: 'the gateway issues the tokens; the identity provider only says who somebody is',
    };
  if (input.flow !== 'Auto') return { flow: input.flow, reason: `the policy asks for ${input.flow}` };
  if (input.registration === 'Shared')
    return { flow: 'Broker', reason: 'registration.mode is Shared: one client of the IdP stands for all' };
  if (input.preset.needsBroker !== undefined) return { flow: 'Broker', reason: input.preset.needsBroker };
  const { metadata } = input;
  if (metadata === undefined) return undefined;
  const objection = findObjection(input, metadata);
  if (objection !== undefined) return { flow: 'Broker', reason: objection };
  return {
    flow: 'Facade',
    reason:
      'the IdP registers clients, has public clients and PKCE, and does not put iss into its authorization responses',
  };
}

/** What speaks against Facade, in the order of importance. */
function findObjection(input: FlowInput, metadata: IdpMetadata): string | undefined {
  if (input.emitsIssuer || metadata.authorization_response_iss_parameter_supported === true)
    return 'the IdP puts its own iss into authorization responses (RFC 9207), which clients compare with the issuer of the metadata';
  const hasRegistration = metadata.registration_endpoint !== undefined && input.preset.hasNoRegistration !== true;
  if (input.registrationEndpoint === '' && !hasRegistration) return 'the IdP has no registration endpoint';
  const methods = metadata.token_endpoint_auth_methods_supported;
  if (methods === undefined)
    return 'the IdP does not list how clients authenticate, which means client_secret_basic: it has no public clients';
  if (!methods.includes('none'))
    return 'the IdP does not list none among its authentication methods: it has no public clients';
  if (metadata.code_challenge_methods_supported?.includes('S256') !== true)
    return 'the IdP does not list S256, without which clients refuse to log in';
  if (input.addsToRequests) return 'authorizationRequest adds to what clients ask for, which only the broker can do';
  return undefined;
}
