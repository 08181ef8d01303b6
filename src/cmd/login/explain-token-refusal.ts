// Why a server refuses a token that was just given out: its clock, its audience, its form. It goes by what the server says, and claims nothing that only its policy knows.
import type { FoundToken } from './exchange-code.ts';
import { judgeClocks } from './clocks.ts';

/** What was sent, and what came back. */
interface RefusedToken {
  readonly token: FoundToken;
  /** What the server said about it. */
  readonly said: string;
  /** The resource that the token was asked for (RFC 8707). */
  readonly resource: string | undefined;
  /** How far the clock of the server is ahead of this machine's. */
  readonly serverClockMs: number | undefined;
}

/** A cause with its remedy. */
export interface Explanation {
  /** The server named this cause. Otherwise it only may be the cause. */
  readonly isSaid: boolean;
  readonly text: string;
  readonly advice: string;
}

/** The most telling explanation. Undefined: there is none beyond the words of the server. */
export function explainTokenRefusal({ token, said, resource, serverClockMs }: RefusedToken): Explanation | undefined {
  const { claims } = token;
  if (claims === undefined)
    return {
      isSaid: false,
      text: 'The token is opaque. A server that validates JWTs cannot read it.',
      advice: 'Many identity providers give out a JWT only when `resource` or an audience is asked for.',
    };
  if (isAboutTime(said)) return explainTime(token, serverClockMs);
  if (/\bkeys?\b|\bsignature\b/i.test(said))
    return {
      isSaid: true,
      text: 'The server does not verify it with the keys that it has of the identity provider.',
      advice:
        'Are issuer, metadataUrl and jwks of the policy those of the identity provider that gave out the token? mcp-gatehouse check --online lists its keys. Where they were replaced just now, try again in a minute.',
    };
  if (/\bissuer\b/i.test(said))
    return {
      isSaid: true,
      text: `The token's iss is ${show(claims['iss'])}, and the server accepts another issuer.`,
      advice: 'Set issuer of the policy to exactly that, if it is your identity provider: a slash at the end counts.',
    };
  if (/\baudience\b|\baud\b/i.test(said)) return explainAudience(claims, token.clientId, resource);
  const { aud } = claims;
  if (namesAnotherCause(said) || resource === undefined || listAudiences(aud).includes(resource)) return undefined;
  return {
    isSaid: false,
    text: `The token's aud is ${show(aud)}, not ${resource}, for which it was asked: an identity provider without RFC 8707?`,
    advice:
      'If that is why: set `audiences` in the policy to what tokens carry, or add an audience mapper at the identity provider.',
  };
}

/** Then its policy may well accept this audience. Other servers often say no more than that they do not know the token. */
function namesAnotherCause(said: string): boolean {
  return /\balgorithm\b|\brevoked\b|\bclaims?\b|\bscopes?\b|\bsession\b|\bID token\b/i.test(said);
}

function isAboutTime(said: string): boolean {
  return /\bexpired?\b|not valid yet|not yet valid|in the future|\bnbf\b|\biat\b|\bclock/i.test(said);
}

function explainTime({ claims = {}, clockMs }: FoundToken, serverClockMs: number | undefined): Explanation {
  const judged = judgeClocks({ idpMs: clockMs, serverMs: serverClockMs });
  if (judged !== undefined) return { isSaid: true, ...judged };
  const { iat, exp } = claims;
  const lifetime = typeof iat === 'number' && typeof exp === 'number' ? ` It lives ${exp - iat} s.` : '';
  return {
    isSaid: true,
    text: `The clocks of the identity provider, of the server and of this machine agree, as far as they show.${lifetime}`,
    advice: 'Does the identity provider give out tokens that live long enough?',
  };
}

/** Claims that name the client that a token was given to. */
const clientClaims = ['client_id', 'azp', 'cid', 'appid'];

/** For an identity provider of which no aud of use can be had. */
const ownTokens =
  'Or let the gateway issue its own tokens, for which no audience of the identity provider is needed: flow: Issuer.';

function explainAudience(
  claims: Readonly<Record<string, unknown>>,
  clientId: string,
  resource: string | undefined,
): Explanation {
  const audiences = listAudiences(claims['aud']);
  const shown = show(claims['aud']);
  const see = 'The log and the inspector of the gateway name the accepted ones under the request id.';
  if (audiences.length === 0)
    return {
      isSaid: true,
      text: 'The token has no aud: the identity provider does not say whom it is for.',
      advice: `Let it put ${resource ?? 'the URL of the server'}, or a fixed value that the policy lists in audiences, into aud: a resource (RFC 8707), an audience mapper or a scope. ${ownTokens} ${see}`,
    };
  const ids = new Set<unknown>([clientId, ...clientClaims.map((name) => claims[name])]);
  const client = audiences.find((audience) => ids.has(audience));
  if (client !== undefined)
    return {
      isSaid: true,
      text: `The token's aud is ${shown}: the id of the client that it was given to. The identity provider does not name the server.`,
      advice: `With registration.mode Shared, set audiences: [${client}] in the policy. With clients that register, use Shared, and set audiences to the id of that one client: those that register get an id each, which no list can have. ${ownTokens} ${see}`,
    };
  if (resource !== undefined && audiences.includes(resource))
    return {
      isSaid: true,
      text: `The token's aud is ${shown}, the resource that it was asked for: audiences of the policy lists others.`,
      advice: `Add ${resource} to audiences, or leave audiences out. ${see}`,
    };
  return {
    isSaid: true,
    text: `The token's aud is ${shown}, which the server does not accept.`,
    advice: `If that value stands for this server at the identity provider, set audiences: ${JSON.stringify(audiences)} in the policy. Otherwise let it put what the policy accepts into aud: by resource (RFC 8707), an audience mapper or a scope. ${see}`,
  };
}

function listAudiences(aud: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return list.filter((entry): entry is string => typeof entry === 'string' && entry !== '');
}

function show(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}
