// Where an issuer's metadata is (RFC 8414 3.1, OpenID Connect Discovery 4.1): the well-known name goes between host and path, or after the path.

const authorizationServer = '/.well-known/oauth-authorization-server';
const openidConfiguration = '/.well-known/openid-configuration';

/** RFC 8414: https://host/.well-known/oauth-authorization-server/path */
export function insertAuthorizationServer(issuer: string): string {
  return insertName(issuer, authorizationServer);
}

/** Not a standard, but in use: https://host/path/.well-known/oauth-authorization-server */
export function appendAuthorizationServer(issuer: string): string {
  return appendName(issuer, authorizationServer);
}

/** OpenID Connect: https://host/path/.well-known/openid-configuration */
export function appendOpenidConfiguration(issuer: string): string {
  return appendName(issuer, openidConfiguration);
}

/** OpenID Connect metadata where RFC 8414 5 puts it: https://host/.well-known/openid-configuration/path */
export function insertOpenidConfiguration(issuer: string): string {
  return insertName(issuer, openidConfiguration);
}

// Both specifications take away a slash at the end of the issuer before they add the name.
function insertName(issuer: string, name: string): string {
  const { origin, pathname, search } = new URL(issuer);
  return `${origin}${name}${pathname.replace(/\/$/, '')}${search}`;
}

function appendName(issuer: string, name: string): string {
  const { origin, pathname, search } = new URL(issuer);
  return `${origin}${pathname.replace(/\/$/, '')}${name}${search}`;
}
