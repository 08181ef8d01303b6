// The identity headers that go upstream when the route (JWT authentication), the backend (MCP authentication) or both authenticate the caller:
// - Headers that either policy fills with claims or reads tokens from are removed from the client's request, in every spelling. So are headers of
//   a policy that either of them overrides, because the backend may still trust them.
// - The claims of both are added. If both name the same header, the backend's value wins, even if its token lacks that claim.
// - A token is forwarded only if every policy that read it there allows it.
import type { RawHeaders } from '../http/exchange.ts';
import type { JwtAdmission, McpAdmission } from '../request/admission.ts';
import { withoutFields } from '../http/headers.ts';

/** Header changes of policies that authenticate the caller. */
export interface ForwardedIdentity {
  /** Lower-case names with '-': what the client sent under any spelling of them is dropped, after the body too. Undefined: nothing. */
  readonly removed: ReadonlySet<string> | undefined;
  /** Cookie that is taken out of what the client sent. */
  readonly removedCookie: string | undefined;
  /** Added after the removal. */
  readonly added: RawHeaders;
}

const anonymous: ForwardedIdentity = { removed: undefined, removedCookie: undefined, added: [] };
const tokenHeader: ReadonlySet<string> = new Set(['authorization']);

/** Combines both policies. `identityHeaders`: header names of overridden policies, as in RoutePolicies. */
export function combineIdentity(
  jwt: JwtAdmission | undefined,
  authenticated: McpAdmission | undefined,
  identityHeaders: ReadonlySet<string> | undefined,
): ForwardedIdentity {
  const identity = combineAsked(jwt, authenticated);
  if (identityHeaders === undefined) return identity;
  return { ...identity, removed: identity.removed?.union(identityHeaders) ?? identityHeaders };
}

function combineAsked(jwt: JwtAdmission | undefined, authenticated: McpAdmission | undefined): ForwardedIdentity {
  if (jwt === undefined) {
    if (authenticated === undefined) return anonymous;
    return { removed: authenticated.removedHeaders, removedCookie: undefined, added: authenticated.addedHeaders };
  }
  const { removedHeaders: removed, removedCookie, addedHeaders: added } = jwt;
  if (authenticated === undefined) return { removed, removedCookie, added };
  const { location, message } = jwt.config;
  // The route read the token from the same header and does not forward it.
  const isWithheld = !message.forwardToken && location.kind === 'header' && location.name === 'authorization';
  return {
    removed: removed.union(authenticated.removedHeaders),
    removedCookie,
    added: [
      ...withoutFields(added, authenticated.removedHeaders),
      ...(isWithheld ? withoutFields(authenticated.addedHeaders, tokenHeader) : authenticated.addedHeaders),
    ],
  };
}
