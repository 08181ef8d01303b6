// The first half of discovery: what the MCP server says to somebody without a token, and its metadata (RFC 9728).
import { adviseOnIssuer } from './advise-on-issuer.ts';
import { findBearerChallenge } from '../../gateway/authentication/challenge.ts';
import { initialize } from './ask-server.ts';
import type { Narrator } from './narration.ts';
import { endSentence, joinSaid } from './sentence.ts';
import { fetchTold, readJsonObject, readString, readStrings, showRequestId } from './told-fetch.ts';

/** What the challenge said. */
interface FoundChallenge {
  readonly metadataUrl: string | undefined;
  readonly scope: string | undefined;
}

type ChallengeResult =
  | { readonly kind: 'challenged'; readonly challenge: FoundChallenge }
  /** The server answers without a token. */
  | { readonly kind: 'open' }
  | { readonly kind: 'failed' };

/** Step 1. */
export async function askWithoutToken(narrator: Narrator, url: string): Promise<ChallengeResult> {
  narrator.begin('Ask without a token', 'RFC 6750 3, RFC 9728 5.1');
  const asked = await initialize(narrator, { url, accessToken: undefined, sessionId: undefined, version: undefined });
  if (!asked.ok) {
    narrator.find('bad', `The server cannot be reached: ${endSentence(asked.problem)}`, asked.advice);
    return { kind: 'failed' };
  }
  const { status, headers, text } = asked.answer;
  if (status >= 200 && status < 300) {
    narrator.find(
      'remark',
      'The server answers without a token: it is not protected, or only in part (mode Optional).',
    );
    return { kind: 'open' };
  }
  if (status !== 401) {
    const document = readJsonObject(text);
    const description = readString(document, 'error_description');
    const said = joinSaid(readString(document, 'error'), description);
    narrator.find(
      'bad',
      endSentence(`A request without a token is answered ${status} instead of 401${said === '' ? '' : `: ${said}`}`),
      adviseOnStatus(status, headers, description),
    );
    showRequestId(narrator, document);
    return { kind: 'failed' };
  }
  const header = headers.get('www-authenticate');
  if (header === null) {
    narrator.find('remark', '401 without WWW-Authenticate: clients have to guess where the metadata is.');
    return { kind: 'challenged', challenge: { metadataUrl: undefined, scope: undefined } };
  }
  const bearer = findBearerChallenge(header);
  if (bearer === undefined) {
    narrator.find(
      'bad',
      'WWW-Authenticate has no Bearer challenge that can be read.',
      'MCP clients know Bearer only (RFC 6750), written as in RFC 9110 11.6.1.',
    );
    return { kind: 'failed' };
  }
  const { parameters } = bearer;
  const metadataUrl = parameters.get('resource_metadata');
  if (metadataUrl === undefined) {
    narrator.find('remark', 'The challenge has no resource_metadata: clients have to guess where it is.');
  } else if (!isWebUrl(metadataUrl)) {
    narrator.find('bad', 'resource_metadata is not an http(s) URL.', 'It must be the URL of the resource metadata.');
    return { kind: 'failed' };
  } else {
    narrator.find('good', '401 with a Bearer challenge that names the resource metadata.');
    narrator.show('resource_metadata', metadataUrl);
  }
  const scope = parameters.get('scope');
  if (scope !== undefined) narrator.show('scope', scope);
  if (parameters.has('error')) {
    narrator.find(
      'remark',
      `The challenge has error="${parameters.get('error')}" although no token was sent (RFC 6750 3.1 says not to).`,
    );
  }
  return { kind: 'challenged', challenge: { metadataUrl, scope } };
}

function adviseOnStatus(status: number, headers: Headers, description = ''): string {
  const ofIssuer = adviseOnIssuer(description);
  if (ofIssuer !== undefined) return ofIssuer;
  if (/identity provider/.test(description)) return adviseOnIdp(description);
  if (status >= 300 && status < 400)
    return `It redirects to ${headers.get('location') ?? 'elsewhere'}; clients do not follow with a POST. Use the final URL.`;
  if (status === 403) return 'Something before the MCP server refuses: an Origin or Host check, a firewall?';
  if (status === 404) return 'Is the path right? Many servers are at /mcp.';
  if (status === 405) return 'No POST here: an older server with SSE only? Its stream is often at /sse.';
  if (status === 429) return 'Too many requests. Wait a little.';
  return status >= 500
    ? 'The server, or what stands before it, is in trouble. Its log may say more.'
    : 'A protected MCP server answers 401.';
}

/** As this gateway puts it when it has no use of its identity provider: what its operator has to look at. */
export function adviseOnIdp(description: string): string {
  const more =
    'mcp-gatehouse check --online asks it the same; the log and the inspector of the gateway have the details under the request id.';
  if (/another issuer/.test(description))
    return `Set issuer of the policy to exactly what the metadata of the identity provider says, down to the last slash. ${more}`;
  if (/no metadata/.test(description))
    return `Is issuer of the policy right, with its path? If its metadata is elsewhere, set metadataUrl. ${more}`;
  if (/in time/.test(description))
    return `The identity provider hangs, or something before it swallows requests. ${more}`;
  return `Is the identity provider up, and does the gateway reach it? ${more}`;
}

/** What is known about the resource. */
interface FoundResource {
  /** To be sent as `resource` (RFC 8707). */
  readonly resource: string | undefined;
  /** Issuers; empty when there is no metadata. */
  readonly authorizationServers: readonly string[];
  readonly scopesSupported: readonly string[] | undefined;
}

/** Step 2: at the URL of the challenge, or else at the well-known ones, for the path and for the root. Undefined: it failed. */
export async function findResourceMetadata(
  narrator: Narrator,
  url: string,
  challenge: FoundChallenge,
): Promise<FoundResource | undefined> {
  narrator.begin('Resource metadata', 'RFC 9728 3');
  const { origin, pathname } = new URL(url);
  const path = pathname === '/' ? '' : pathname;
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  const guesses = [...new Set([`${wellKnown}${path}`, wellKnown])];
  const candidates = challenge.metadataUrl === undefined ? guesses : [challenge.metadataUrl];
  for (const candidate of candidates) {
    const asked = await fetchTold(narrator, candidate, { headers: { accept: 'application/json' } });
    if (!asked.ok || asked.answer.status !== 200) {
      if (challenge.metadataUrl === undefined) continue;
      const what = asked.ok ? `answered ${asked.answer.status}` : asked.problem;
      narrator.find(
        'bad',
        `The resource metadata that the challenge names is not there: ${endSentence(what)}`,
        asked.ok ? 'It must be public: no login, no redirect.' : asked.advice,
      );
      return undefined;
    }
    const document = readJsonObject(asked.answer.text);
    if (document === undefined) {
      narrator.find(
        'bad',
        'The resource metadata is not a JSON object.',
        'Does another application answer at this URL?',
      );
      return undefined;
    }
    return judgeResourceMetadata(narrator, url, document);
  }
  narrator.find(
    'remark',
    'There is no resource metadata. Clients of the 2025-03-26 specification take the server itself for its authorization server; newer ones stop here.',
  );
  return { resource: undefined, authorizationServers: [], scopesSupported: undefined };
}

function judgeResourceMetadata(
  narrator: Narrator,
  url: string,
  document: Readonly<Record<string, unknown>>,
): FoundResource | undefined {
  const resource = readString(document, 'resource');
  if (resource === undefined) {
    narrator.find('bad', 'The metadata has no `resource`.', 'It must be the URL of the MCP server (RFC 9728 2).');
    return undefined;
  }
  if (!coversUrl(resource, url)) {
    narrator.find(
      'bad',
      `\`resource\` is ${resource}, which is not the URL that was asked (RFC 9728 3.3).`,
      'Behind a proxy: does it pass Host and X-Forwarded-Proto on, and is it trusted? Or set resourceMetadata.resource.',
    );
    return undefined;
  }
  narrator.find(
    'good',
    resource === url
      ? '`resource` is the URL that was asked.'
      : `\`resource\` covers the URL that was asked: ${resource}`,
  );
  const servers = readStrings(document, 'authorization_servers') ?? [];
  const usable = servers.filter(isWebUrl);
  if (usable.length === 0) {
    narrator.find(
      'bad',
      'No usable `authorization_servers`.',
      'List the issuer of the authorization server (RFC 9728 2).',
    );
    return undefined;
  }
  narrator.show('authorization_servers', usable.join(' '));
  const scopesSupported = readStrings(document, 'scopes_supported');
  if (scopesSupported !== undefined) narrator.show('scopes_supported', scopesSupported.join(' '), { minor: true });
  return { resource, authorizationServers: usable, scopesSupported };
}

/** As MCP clients compare: the same origin, and the same path or one above it. */
function coversUrl(resource: string, url: string): boolean {
  const [outer, inner] = [URL.parse(resource), new URL(url)];
  if (outer === null || outer.origin !== inner.origin) return false;
  const above = outer.pathname.endsWith('/') ? outer.pathname : `${outer.pathname}/`;
  return `${inner.pathname}/`.startsWith(above);
}

/** Everything that goes to a browser or to fetch must pass here: metadata can name any scheme. */
export function isWebUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:');
}
