// Where the gateway's own OAuth endpoints are, given the path P of the resource they belong to (RFC 9728 3.1, RFC 8414 3.1, OpenID Connect
// Discovery 4.1). Pure: gateways build the tables of their listeners from it, and translation tells routes that lie at these paths.

/** An endpoint by what it does; endpoints.ts has the implementation of each. */
export type EndpointForm =
  | 'protected-resource-metadata'
  | 'authorization-server-metadata'
  | 'openid-configuration'
  | 'register'
  | 'authorize'
  | 'consent'
  | 'callback'
  | 'token'
  | 'revoke'
  | 'jwks';

/** One path of one endpoint. */
export interface EndpointPath {
  readonly form: EndpointForm;
  readonly path: string;
  /** Derived from the host alone and not from P: the identifier in the answer (`issuer`) is then the base without a path. */
  readonly isRootForm: boolean;
}

/** A resource as far as its endpoints depend on it. */
interface EndpointOwner {
  /** P: '' for the root, otherwise with a slash in front and none at the end. */
  readonly path: string;
  /** The host has this one resource only. */
  readonly isOnlyOne: boolean;
  /** The host has this one configuration only. */
  readonly isOnlyConfiguration: boolean;
}

const protectedResource = '/.well-known/oauth-protected-resource';
const authorizationServer = '/.well-known/oauth-authorization-server';
const openidConfiguration = '/.well-known/openid-configuration';

/** Root paths that some clients guess when discovery fails. Routes take precedence over them. */
export const fallbackPaths: readonly EndpointPath[] = [
  { form: 'register', path: '/register', isRootForm: true },
  { form: 'authorize', path: '/authorize', isRootForm: true },
  { form: 'token', path: '/token', isRootForm: true },
];

/** Paths that carry P: they belong to this resource and to no other. */
export function listOwnPaths(path: string): readonly EndpointPath[] {
  const isRootForm = false;
  const paths: EndpointPath[] = [
    { form: 'protected-resource-metadata', path: `${protectedResource}${path}`, isRootForm },
    { form: 'authorization-server-metadata', path: `${authorizationServer}${path}`, isRootForm },
    { form: 'openid-configuration', path: `${openidConfiguration}${path}`, isRootForm },
    { form: 'register', path: formatEndpointPath(path, 'register'), isRootForm },
    { form: 'authorize', path: formatEndpointPath(path, 'authorize'), isRootForm },
    { form: 'consent', path: formatEndpointPath(path, 'consent'), isRootForm },
    { form: 'callback', path: formatEndpointPath(path, 'callback'), isRootForm },
    { form: 'token', path: formatEndpointPath(path, 'token'), isRootForm },
    { form: 'revoke', path: formatEndpointPath(path, 'revoke'), isRootForm },
    { form: 'jwks', path: formatEndpointPath(path, 'jwks'), isRootForm },
  ];
  if (path !== '') paths.push({ form: 'openid-configuration', path: `${path}${openidConfiguration}`, isRootForm });
  return withSlashes(paths);
}

// A client that was given https://host/mcp/ asks for .../oauth-protected-resource/mcp/ and means the same resource.
function withSlashes(paths: readonly EndpointPath[]): readonly EndpointPath[] {
  return paths.flatMap((each) =>
    each.path.startsWith('/.well-known/') ? [each, { ...each, path: `${each.path}/` }] : [each],
  );
}

/** Paths without P, for a resource that is the only one of its host. `isClaimed`: a route serves that path. */
export function listRootPaths(owner: EndpointOwner, isClaimed: (path: string) => boolean): readonly EndpointPath[] {
  const isRootForm = true;
  const paths: EndpointPath[] = [];
  if (owner.isOnlyOne) paths.push({ form: 'protected-resource-metadata', path: protectedResource, isRootForm });
  if (owner.isOnlyConfiguration) {
    paths.push({ form: 'authorization-server-metadata', path: authorizationServer, isRootForm });
    paths.push({ form: 'openid-configuration', path: openidConfiguration, isRootForm });
    for (const form of ['register', 'authorize', 'consent', 'token', 'revoke', 'jwks'] as const)
      paths.push({ form, path: formatEndpointPath('', form), isRootForm });
    paths.push(...fallbackPaths.filter(({ path }) => !isClaimed(path)));
  }
  return withSlashes(paths);
}

/** The path of an endpoint that metadata names: /.oauth{P}/register. */
export function formatEndpointPath(
  path: string,
  name: 'register' | 'authorize' | 'consent' | 'callback' | 'token' | 'revoke' | 'jwks',
): string {
  return `/.oauth${path}/${name}`;
}

/** The path of the protected resource metadata, which the challenge names. */
export function formatMetadataPath(path: string): string {
  return `${protectedResource}${path}`;
}
