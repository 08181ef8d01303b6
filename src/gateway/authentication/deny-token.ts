// What a client reads when its token is missing or not accepted (RFC 6750 3): status, challenge, and words that say where the token belongs.
import type { ProtectedResource } from '../config/protected-resource.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { Denial } from '../request/verdict.ts';
import { exposeToScripts } from './browser-access.ts';
import { type BearerChallenge, formatChallenge } from './challenge.ts';
import { formatMetadataPath } from './endpoint-paths.ts';
import { readBase } from './read-base.ts';
import { describeLocation, isBearerHeader, type TokenLocation } from './token/find-token.ts';
import type { TokenRefusal } from './token/verified-token.ts';

/** Whose token is asked for, and where. */
export interface TokenAsker {
  readonly context: RequestContext;
  readonly location: TokenLocation;
  /** The MCP resource whose login brings the token; undefined: there is no login here. Asked only for denials. */
  findLogin(): ProtectedResource | undefined;
}

/** 401 without an error: nobody did anything wrong yet (RFC 6750 3.1). */
export function denyMissingToken(asker: TokenAsker, detail: string | undefined): Denial {
  const login = asker.findLogin();
  const denial = denyRequest(asker.context, login, 'missing_token', { ...listScopes(login) }, detail ?? '');
  // The words of the reason send clients to the challenge, which has something to say only where there is a login.
  if (login !== undefined) return denial;
  return { ...denial, description: `A token is needed here, in ${describeLocation(asker.location)}.` };
}

/** 400: more than one token. */
export function denyAmbiguousToken(asker: TokenAsker, detail: string): Denial {
  const description = `Send exactly one token, in ${describeLocation(asker.location)}.`;
  const challenge: BearerChallenge = { error: 'invalid_request', errorDescription: description };
  return { ...denyRequest(asker.context, asker.findLogin(), 'invalid_request', challenge, detail), description };
}

/** 401 for what cannot be a token: `description` says where it is. */
export function denyMalformedToken(asker: TokenAsker, description: string): Denial {
  return denyToken(asker, 'token_malformed', description, description);
}

/** 401 with the check that failed. */
export function denyInvalidToken(asker: TokenAsker, { reason, detail, operatorDetail }: TokenRefusal): Denial {
  // The scheme of the challenge is Bearer wherever the token is; who reads it may look in the wrong place.
  const description = isBearerHeader(asker.location)
    ? detail
    : `${detail} It was read from ${describeLocation(asker.location)}.`;
  const shown = operatorDetail === undefined ? detail : `${detail} (${operatorDetail})`;
  return denyToken(asker, reason, description, shown);
}

function denyToken(asker: TokenAsker, reason: Denial['reason'], description: string, detail: string): Denial {
  const login = asker.findLogin();
  const challenge = { error: 'invalid_token', errorDescription: description, ...listScopes(login) } as const;
  return { ...denyRequest(asker.context, login, reason, challenge, detail), description };
}

const defaultRetrySeconds = 5;

/** 503: the keys of the token's own provider were never loaded. */
export function denyWithoutKeys(
  asker: TokenAsker,
  { detail, operatorDetail, retryAfterSeconds = defaultRetrySeconds }: TokenRefusal,
): Denial {
  const shown = operatorDetail ?? detail;
  const denial = denyRequest(asker.context, asker.findLogin(), 'keys_unavailable', undefined, shown);
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds));
  return { ...denial, responseHeaders: [...denial.responseHeaders, 'retry-after', String(seconds)] };
}

/** A denial with a challenge, which names the metadata where there is a login: an MCP client can begin one from there only. */
export function denyRequest(
  context: RequestContext,
  login: ProtectedResource | undefined,
  reason: Denial['reason'],
  challenge: BearerChallenge | undefined,
  detail: string,
): Denial {
  const responseHeaders: string[] = [];
  if (challenge !== undefined) {
    const place =
      login === undefined ? {} : { resourceMetadata: `${readBase(context, login)}${formatMetadataPath(login.path)}` };
    responseHeaders.push('www-authenticate', formatChallenge({ ...place, ...challenge }));
  }
  if (login !== undefined) noteAccess(context, login);
  responseHeaders.push(...exposeToScripts(context));
  return { kind: 'deny', reason, detail, responseHeaders };
}

/** What may follow is a login to the MCP server: the inspector shows it from its beginning. */
export function noteAccess(context: RequestContext, { config, path }: ProtectedResource): void {
  context.flowStep = { name: 'access', policy: config.source, resource: path, flow: config.idp.getFlow()?.flow };
}

function listScopes(login: ProtectedResource | undefined): Pick<BearerChallenge, 'scopes'> {
  return login === undefined ? {} : { scopes: login.config.message.requiredScopes };
}
