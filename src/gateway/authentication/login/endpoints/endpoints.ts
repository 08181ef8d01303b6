// The table of the gateway's own OAuth endpoints. Where they are: endpoint-paths.ts. How they are served: serve-own-endpoint.ts.
import { authorizationServerMetadataEndpoint, openidConfigurationEndpoint } from './authorization-server-metadata.ts';
import { authorizeEndpoint } from './authorize.ts';
import { callbackEndpoint } from './callback.ts';
import { consentEndpoint } from './consent.ts';
import type { EndpointForm } from '../../../../ir/endpoint-paths.ts';
import type { FlowChoice } from '../../../config/idp-connection.ts';
import { jwksEndpoint } from './jwks.ts';
import type { OAuthEndpoint } from '../oauth-endpoint.ts';
import type { ProtectedResource } from '../../../config/protected-resource.ts';
import { protectedResourceMetadataEndpoint } from './protected-resource-metadata.ts';
import { registerEndpoint } from './register.ts';
import { revokeEndpoint } from './revoke.ts';
import { tokenEndpoint } from './token.ts';

/** An endpoint, and the login flows that have it. */
interface EndpointEntry {
  readonly endpoint: OAuthEndpoint;
  /** Undefined: all flows, and also while the flow is not known yet. */
  readonly needsFlow: readonly FlowChoice['flow'][] | undefined;
  /** What else it depends on; absent: nothing. */
  readonly isOffered?: (resource: ProtectedResource) => boolean;
}

const endpoints: Readonly<Record<EndpointForm, EndpointEntry>> = {
  'protected-resource-metadata': { endpoint: protectedResourceMetadataEndpoint, needsFlow: undefined },
  'authorization-server-metadata': { endpoint: authorizationServerMetadataEndpoint, needsFlow: undefined },
  'openid-configuration': { endpoint: openidConfigurationEndpoint, needsFlow: undefined },
  register: { endpoint: registerEndpoint, needsFlow: ['Facade', 'Broker', 'Issuer'] },
  authorize: { endpoint: authorizeEndpoint, needsFlow: ['Broker', 'Issuer'] },
  consent: { endpoint: consentEndpoint, needsFlow: ['Broker', 'Issuer'] },
  callback: { endpoint: callbackEndpoint, needsFlow: ['Broker', 'Issuer'] },
  token: { endpoint: tokenEndpoint, needsFlow: ['Broker', 'Issuer'] },
  revoke: {
    endpoint: revokeEndpoint,
    needsFlow: ['Issuer'],
    isOffered: ({ config }) => config.issuer?.grants.isStored === true,
  },
  jwks: { endpoint: jwksEndpoint, needsFlow: ['Issuer'] },
};

/** The endpoint that serves a form. */
export function findEndpoint(form: EndpointForm): EndpointEntry {
  return endpoints[form];
}
