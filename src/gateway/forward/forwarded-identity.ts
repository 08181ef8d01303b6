// What goes upstream of who is asking, when the route (JWT authentication) and the backend (MCP authentication) may both have asked:
// - What either of them names for claims, and where they read tokens, does not come from the client, in any spelling. Nor does what a policy names
//   that either of them overrides: the backend may trust it all the same.
// - Claims of both are added. Where both name a header it is the backend's, also when its token does not have that claim.
// - A token goes on only when everyone who read it there wants it to.
import type { RawHeaders } from '../http/exchange.ts';
import type { JwtAdmission, McpAdmission } from '../request/admission.ts';
import { withoutFields } from '../http/headers.ts';

/** What becomes of headers because of policies that know the caller. */
export interface ForwardedIdentity {
  /** Lower-case names with '-': what the client sent under any spelling of them is dropped, after the body too. Undefined: nothing. */
  readonly removed: ReadonlySet<string> | undefined;
  /** Cookie that is taken out of what the client sent. */
  readonly removedCookie: string | undefined;
  /** Added after the removal. */
  readonly added: RawHeaders;
}

const nobody: ForwardedIdentity = { removed: undefined, removedCookie: undefined, added: [] };
const tokenHeader: ReadonlySet<string> = new Set(['authorization']);

/** Puts together what both say. `identityHeaders`: names of policies that have no say, as RoutePolicies has them. */
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
    if (authenticated === undefined) return nobody;
    return { removed: authenticated.removedHeaders, removedCookie: undefined, added: authenticated.addedHeaders };
  }
  const { removedHeaders: removed, removedCookie, addedHeaders: added } = jwt;
  if (authenticated === undefined) return { removed, removedCookie, added };
  const { location, message } = jwt.config;
  // The route read the token from the header as well, and wants it to end here.
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
