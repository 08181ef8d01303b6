// Denials for missing or invalid tokens (RFC 6750 3): status, challenge, and a description that says where the token belongs.
import type { ProtectedResource } from '../config/protected-resource.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { Denial } from '../request/verdict.ts';
import { exposeToScripts } from './browser-access.ts';
import { type BearerChallenge, formatChallenge } from './challenge.ts';
import { formatMetadataPath } from '../../ir/endpoint-paths.ts';
import { explainIdpProblem } from './idp-problem.ts';
import { readBase } from './read-base.ts';
import { describeLocation, isBearerHeader, type TokenLocation } from './token/find-token.ts';
import type { TokenRefusal } from './token/verified-token.ts';

/** The request that needs a token, and where the token belongs. */
export interface TokenAsker {
  readonly context: RequestContext;
  readonly location: TokenLocation;
  /** The MCP resource whose login yields the token; undefined: there is no login. Called only for denials. */
  findLogin(): ProtectedResource | undefined;
}

/** 401 without an error code: the client sent no token yet (RFC 6750 3.1). */
export function denyMissingToken(asker: TokenAsker, detail: string | undefined): Denial {
  const login = asker.findLogin();
  const denial = createDenial(asker.context, login, 'missing_token', { ...listScopes(login) }, detail ?? '');
  // The default description refers to the challenge, which is useful only where there is a login.
  if (login !== undefined) return denial;
  return { ...denial, description: `This request needs a token. Send it in ${describeLocation(asker.location)}.` };
}

/** 400: more than one token. */
export function denyAmbiguousToken(asker: TokenAsker, detail: string): Denial {
  const description = `Send exactly one token, in ${describeLocation(asker.location)}.`;
  const challenge: BearerChallenge = { error: 'invalid_request', errorDescription: description };
  return { ...createDenial(asker.context, asker.findLogin(), 'invalid_request', challenge, detail), description };
}

/** 401 for a text that cannot be a token: `description` says where it was found. */
export function denyMalformedToken(asker: TokenAsker, description: string): Denial {
  return denyToken(asker, 'token_malformed', description, description);
}

/** 401 with the check that failed. */
export function denyInvalidToken(asker: TokenAsker, { reason, detail, operatorDetail }: TokenRefusal): Denial {
  // The scheme of the challenge is always Bearer, so the description has to name any other location.
  const description = isBearerHeader(asker.location)
    ? detail
    : `${detail} It was read from ${describeLocation(asker.location)}.`;
  const shown = operatorDetail === undefined ? detail : `${detail} (${operatorDetail})`;
  return denyToken(asker, reason, description, shown);
}

function denyToken(asker: TokenAsker, reason: Denial['reason'], description: string, detail: string): Denial {
  const login = asker.findLogin();
  const challenge = { error: 'invalid_token', errorDescription: description, ...listScopes(login) } as const;
  return { ...createDenial(asker.context, login, reason, challenge, detail), description };
}

const defaultRetrySeconds = 5;

/** 503: the keys of the token's own provider were never loaded, or the gateway has no signing keys. */
export function denyWithoutKeys(
  asker: TokenAsker,
  { reason, detail, operatorDetail, retryAfterSeconds = defaultRetrySeconds }: TokenRefusal,
): Denial {
  const shown = operatorDetail ?? detail;
  const denial = createDenial(asker.context, asker.findLogin(), reason, undefined, shown);
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds));
  const why = explainIdpProblem(operatorDetail);
  return {
    ...denial,
    ...(why !== undefined && {
      description: `The keys of the identity provider could not be fetched yet: it ${why}.`,
    }),
    responseHeaders: [...denial.responseHeaders, 'retry-after', String(seconds)],
  };
}

/** A denial with a challenge. Where there is a login, it names the metadata, from which MCP clients start the login. */
export function createDenial(
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

/** Records the access for the inspector: a login to the MCP server may follow. */
export function noteAccess(context: RequestContext, { config, path }: ProtectedResource): void {
  context.flowStep = { name: 'access', policy: config.source, resource: path, flow: config.idp.getFlow()?.flow };
}

function listScopes(login: ProtectedResource | undefined): Pick<BearerChallenge, 'scopes'> {
  return login === undefined ? {} : { scopes: login.config.message.requiredScopes };
}
