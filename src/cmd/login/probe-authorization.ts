// Asks the authorization endpoint before a browser goes there: an error page ends the login, and only the person in front of the browser would see it.
import { formatEndpointPath } from '../../ir/endpoint-paths.ts';
import { isAboutRedirectUri } from '../redirect-refusal.ts';
import type { Narrator } from './narration.ts';
import { endSentence, joinSaid } from './sentence.ts';
import { fetchTold, readJsonObject, readString } from './told-fetch.ts';

/** The authorization request. */
interface ProbedRequest {
  readonly url: URL;
  readonly redirectUri: string;
  /** The user brought the client. */
  readonly isGivenClient: boolean;
}

/** False: the login cannot go on, and why is told. */
export async function probeAuthorization(
  narrator: Narrator,
  { url, redirectUri, isGivenClient }: ProbedRequest,
): Promise<boolean> {
  const asked = await fetchTold(narrator, url.href, {
    headers: { accept: 'text/html' },
    toldUrl: `${url.origin}${url.pathname}`,
    note: 'the authorization request, before a browser sends it',
  });
  if (!asked.ok) {
    narrator.find(
      'remark',
      `The authorization endpoint cannot be reached from here: ${endSentence(asked.problem)} Perhaps the browser can.`,
      asked.advice,
    );
    return true;
  }
  const { status, text } = asked.answer;
  const page = readPage(text);
  if (isAboutRedirectUri(status, text)) {
    narrator.find(
      'bad',
      `The callback is not registered: the authorization server does not accept the redirect URI ${redirectUri}${page === '' ? '.' : `: ${endSentence(page)}`}`,
      isGivenClient
        ? 'Register it for this client there, exactly as it is, or use the one that is registered: --redirect-uri URL'
        : 'The registration asked for this redirect URI. The authorization server has to allow loopback redirect URIs (RFC 8252 7.3).',
    );
    return false;
  }
  // Other refusals may be meant for programs alone: a firewall, a bot check.
  if (status === 400) {
    narrator.find(
      'bad',
      `The authorization server refuses the request: ${endSentence(page === '' ? '400' : page)}`,
      adviseOnPage(page),
    );
    return false;
  }
  if (status > 400)
    narrator.find(
      'remark',
      `The authorization endpoint answers ${status} to this program${page === '' ? '.' : `: ${endSentence(page)}`} A browser may get another answer.`,
    );
  return true;
}

function adviseOnPage(page: string): string {
  if (/metadata document|client_id URL|describes itself/i.test(page))
    return 'The server, and not this machine, fetches the document of the client: it needs a way out (https, HTTPS_PROXY). Or leave --client-id out, and register.';
  if (/\bclient\b/i.test(page)) return 'Is the client registered there, with this client_id?';
  return 'The log of the authorization server may say more.';
}

/** What a page or a JSON error says, in a line. */
function readPage(text: string): string {
  const document = readJsonObject(text);
  if (document !== undefined) return joinSaid(readString(document, 'error'), readString(document, 'error_description'));
  const words = text
    .replaceAll(/<(script|style|head)\b[^]*?<\/\1\s*>/gi, ' ')
    .split(/<\/?(?:h\d|p|div|li|ul|main|body|br|form|table|tr)\b[^>]*>/i)
    .map((block) =>
      block
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity]!)
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((block) => block !== '')
    .map(endSentence)
    .join(' ');
  return words.length <= maxWords ? words : `${words.slice(0, maxWords)}...`;
}

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};
const maxWords = 500;

/** What may have happened where nobody came back, and what to look for. */
export function adviseOnSilence(
  authorizationEndpoint: string,
  resource: string | undefined,
  redirectUri: string,
): string {
  const callback = findGatewayCallback(authorizationEndpoint, resource);
  const unregistered =
    callback === undefined
      ? `${redirectUri} is not registered for this client`
      : `${callback} is not a redirect URI of the gateway's client at the identity provider (with registration.mode Shared mcp-gatehouse check --online asks)`;
  return `Did the browser show an error of the identity provider? One about a redirect URI or callback: ${unregistered}. Another one: its log says more. Only slow: --timeout 15m`;
}

/** Through this gateway the identity provider sees a callback of the gateway, not ours. Undefined: it is not this gateway's endpoint. */
function findGatewayCallback(authorizationEndpoint: string, resource: string | undefined): string | undefined {
  const { origin, pathname } = new URL(authorizationEndpoint);
  const owner = resource === undefined ? null : URL.parse(resource);
  if (owner === null || owner.origin !== origin) return undefined;
  const path = owner.pathname.replace(/\/$/, '');
  const own = [formatEndpointPath(path, 'authorize'), formatEndpointPath('', 'authorize')];
  return own.includes(pathname) ? `${origin}${formatEndpointPath(path, 'callback')}` : undefined;
}
