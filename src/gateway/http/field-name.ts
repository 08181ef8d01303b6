// Names of header fields: what becomes of each on its way through the gateway. Of names that nearly every message has it is looked up; the
// table is made by the same function that judges all others.
import { spellName } from '../../http1/common-names.ts';

/** What is to be known about a name. */
export interface FieldName {
  readonly lowerCase: string;
  /** In lower case with '-' for '_': something behind us may read X_User as X-User, as CGI does. */
  readonly canonical: string;
  /** Ends at this hop whether Connection names it or not; in a request also what only looks like a field by which something is decided: `Mcp_Session_Id`. */
  readonly endsWithRequest: boolean;
  readonly endsWithAnswer: boolean;
  /** Who asked, and for what, as the gateway itself knows it: written anew, or dropped. */
  readonly isOwn: boolean;
  /** What proxies say about the client, in all its variants. */
  readonly isForwarding: boolean;
  /** Has no place after a body (RFC 9110 section 6.5.1): it would change framing, routing or authentication. */
  readonly isForbiddenTrailer: boolean;
}

// Host and the framing fields are here as well: each side writes its own.
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
  // The listener has answered it by the time the body flows.
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

/** Others that clients and servers send often. */
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

/** In both spellings. */
const knownNames = buildKnownNames();

function buildKnownNames(): ReadonlyMap<string, FieldName> {
  const names = new Map<string, FieldName>();
  for (const name of [...requestHopFields, ...answerHopFields, ...forbiddenTrailers, ...commonFields]) {
    const described = describeName(name);
    for (const spelled of spellName(name)) names.set(spelled, described);
  }
  return names;
}

/** What there is to be known about a name, in whatever spelling it comes. */
export function readFieldName(name: string): FieldName {
  return knownNames.get(name) ?? describeName(name);
}

/** A name that is surely a token (RFC 9110 section 5.6.2). False says nothing. */
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

/** Framing, routing, identity, session: whoever reads another field as this one does something else than was decided here. */
function isDecisive(canonical: string): boolean {
  return (
    forbiddenTrailers.has(canonical) ||
    canonical.startsWith('mcp-') ||
    canonical === 'origin' ||
    canonical === 'last-event-id'
  );
}

/** What CGI makes of a name: one for all spellings. */
export function foldName(lowerCaseName: string): string {
  return lowerCaseName.includes('_') ? lowerCaseName.replaceAll('_', '-') : lowerCaseName;
}

/** The field with the marks: ours, and those of other gateways on the way. */
export const roundField = 'x-gateway-round';
