// Classifies header field names: which ones pass, end here or are rewritten. Common names are looked up in a table that is built by the same
// function that classifies all others.
import { spellName } from '../../http1/common-names.ts';

/** The classification of a name. */
interface FieldName {
  readonly lowerCase: string;
  /** In lower case with '-' for '_': a server behind the gateway may read X_User as X-User, as CGI does. */
  readonly canonical: string;
  /** Ends at this hop, whether or not Connection names it. In requests also a look-alike of a field that decides something, e.g. `Mcp_Session_Id`. */
  readonly endsWithRequest: boolean;
  readonly endsWithAnswer: boolean;
  /** States the caller or its request as the gateway verified them: the gateway overwrites or drops the client's value. */
  readonly isOwn: boolean;
  /** Set by proxies to describe the client, in all variants. */
  readonly isForwarding: boolean;
  /** Not allowed in trailers (RFC 9110 section 6.5.1): it would change framing, routing or authentication. */
  readonly isForbiddenTrailer: boolean;
}

// Includes Host and the framing fields: each side writes its own.
const requestHopFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'host',
  'content-length',
  // The listener has answered Expect before the body flows.
  'expect',
]);

const answerHopFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
]);

const ownFields = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-request-id',
  'x-gateway-round',
]);

const forbiddenTrailers = new Set([
  ...requestHopFields,
  ...ownFields,
  'trailer',
  'authorization',
  'cookie',
  'set-cookie',
  'content-encoding',
  'content-type',
  'content-range',
  'cache-control',
  'max-forwards',
  'mcp-session-id',
]);

/** Further names that clients and servers send often. */
const commonFields = [
  'accept',
  'accept-encoding',
  'accept-language',
  'accept-ranges',
  'access-control-request-headers',
  'access-control-request-method',
  'age',
  'baggage',
  'date',
  'etag',
  'if-modified-since',
  'if-none-match',
  'last-event-id',
  'last-modified',
  'location',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'origin',
  'pragma',
  'priority',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'server',
  'strict-transport-security',
  'traceparent',
  'tracestate',
  'user-agent',
  'vary',
  'via',
  'www-authenticate',
  'x-accel-buffering',
  'x-content-type-options',
  'x-powered-by',
];

/** The common names in both spellings. */
const knownNames = buildKnownNames();

function buildKnownNames(): ReadonlyMap<string, FieldName> {
  const names = new Map<string, FieldName>();
  for (const name of [...requestHopFields, ...answerHopFields, ...forbiddenTrailers, ...commonFields]) {
    const described = describeName(name);
    for (const spelled of spellName(name)) names.set(spelled, described);
  }
  return names;
}

/** Classifies a name, whatever its spelling. */
export function readFieldName(name: string): FieldName {
  return knownNames.get(name) ?? describeName(name);
}

/** True for a name that is known to be a token (RFC 9110 section 5.6.2). False: not known. */
export function isCommonName(name: string): boolean {
  return knownNames.has(name);
}

function describeName(name: string): FieldName {
  const lowerCase = name.toLowerCase();
  const canonical = foldName(lowerCase);
  const isForwarding = canonical.startsWith('x-forwarded-') || canonical === 'x-real-ip';
  return {
    lowerCase,
    canonical,
    endsWithRequest: requestHopFields.has(lowerCase) || (canonical !== lowerCase && isDecisive(canonical)),
    endsWithAnswer: answerHopFields.has(lowerCase),
    isOwn: ownFields.has(canonical),
    isForwarding,
    isForbiddenTrailer: isForwarding || forbiddenTrailers.has(canonical),
  };
}

/** Fields for framing, routing, identity and session: a server that reads a look-alike as one of these would bypass the gateway's decision. */
function isDecisive(canonical: string): boolean {
  return (
    forbiddenTrailers.has(canonical) ||
    canonical.startsWith('mcp-') ||
    canonical === 'origin' ||
    canonical === 'last-event-id'
  );
}

/** Folds '_' into '-', as CGI does: one name for all spellings. */
export function foldName(lowerCaseName: string): string {
  return lowerCaseName.includes('_') ? lowerCaseName.replaceAll('_', '-') : lowerCaseName;
}

/** The field with the loop marks of this and other gateways. */
export const roundField = 'x-gateway-round';
