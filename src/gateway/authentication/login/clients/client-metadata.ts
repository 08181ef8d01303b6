// Validates the metadata of a client registration (RFC 7591 2, OpenID Connect Dynamic Client Registration 2). It is untrusted: anyone can send
// anything, and the gateway registers it with its own credential. Only members of a short list are forwarded; a client-chosen client_id or
// client_secret and everything else is dropped.
import { type JsonObject, readJsonObject } from '../../../../base/json-object.ts';
import { findRedirectUriProblem, isLoopbackRedirect } from '../redirect-uri.ts';
import { isScope } from '../request-parameters.ts';

/** A client that may be registered. */
export interface ClientMetadata {
  readonly redirectUris: readonly string[];
  readonly name: string | undefined;
  /** Space-separated. */
  readonly scope: string | undefined;
  /** All members that are read but redirect_uris, client_name and scope, as they are to be sent on. */
  readonly members: JsonObject;
}

type ClientMetadataResult =
  | { readonly ok: true; readonly client: ClientMetadata }
  | {
      readonly ok: false;
      readonly error: 'invalid_client_metadata' | 'invalid_redirect_uri';
      /** A sentence for the author of the client. */
      readonly description: string;
    };

const maxRedirectUris = 32;
const maxListLength = 32;
const maxTextLength = 1024;
const maxUrlLength = 2048;

type Check = (value: unknown) => string | undefined;

const checkText: Check = (value) =>
  typeof value === 'string' && value.length <= maxTextLength
    ? undefined
    : `must be a string of at most ${maxTextLength} characters`;
const checkUrl: Check = (value) =>
  typeof value === 'string' &&
  value.length <= maxUrlLength &&
  /^https?:\/\/[^\s"<>\\^`{|}]+$/i.test(value) &&
  URL.canParse(value)
    ? undefined
    : 'must be an http or https URL';
const checkTexts: Check = (value) =>
  Array.isArray(value) && value.length <= maxListLength && value.every((entry) => checkText(entry) === undefined)
    ? undefined
    : `must be a list of at most ${maxListLength} strings`;

/**
 * The accepted members of a registration and their checks. All others are dropped: URLs that the IdP would fetch (`jwks_uri`, `request_uris`, `sector_identifier_uri`, `logo_uri`,
 * `initiate_login_uri`), members that it would trust (`jwks`, `software_statement`), and members that a login by authorization code does not need.
 */
const memberChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['client_name', checkText],
  ['client_uri', checkUrl],
  ['tos_uri', checkUrl],
  ['policy_uri', checkUrl],
  ['contacts', checkTexts],
  ['scope', checkText],
  ['grant_types', checkTexts],
  ['response_types', checkTexts],
  ['token_endpoint_auth_method', checkText],
  ['software_id', checkText],
  ['software_version', checkText],
  ['application_type', checkText],
]);

/** The gateway supports logins only: a client gets these grants and no others, whatever it asks for. */
const grants = ['authorization_code', 'refresh_token'];

/** Members that people read, which may come in several languages: `client_name#de` (RFC 7591 2.2). */
const translated: ReadonlySet<string> = new Set(['client_name', 'client_uri', 'tos_uri', 'policy_uri']);

/** The members meant for people: the IdP may show them, and the gateway may repeat them. */
export function pickShownMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([name]) => shown.has(name) || translated.has(name.split('#', 1)[0]!)),
  );
}

const shown: ReadonlySet<string> = new Set(['contacts', 'software_id', 'software_version']);

/** Whether a member of a registration is passed between client and IdP. */
export function isKnownMember(name: string): boolean {
  return name === 'redirect_uris' || findCheck(name) !== undefined;
}

/** Reads a registration request. The lists of redirect URIs are the policy's. */
export function readClientMetadata(
  body: string,
  allowedRedirectUris: readonly string[],
  trustedRedirectUris: readonly string[] = [],
): ClientMetadataResult {
  const read = readJsonObject(body, { maxDepth: 16 });
  if (!read.ok) return refuse(`The request ${read.problem}.`);
  const { value } = read;
  const redirects = readRedirectUris(value['redirect_uris'], allowedRedirectUris, trustedRedirectUris);
  if (!redirects.ok) return redirects;

  const members: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const check = findCheck(name);
    if (check === undefined || member === null) continue;
    const problem = check(member);
    if (problem !== undefined) return refuse(`${name} ${problem}.`);
    members[name] = member;
  }
  const {
    client_name: name,
    scope,
    ...others
  } = members as {
    client_name?: string;
    scope?: string;
    grant_types?: readonly string[];
    response_types?: readonly string[];
  };
  const asked = members['grant_types'] as readonly string[] | undefined;
  if (asked !== undefined && asked.length > 0 && !asked.includes('authorization_code'))
    return refuse('grant_types must include authorization_code.');
  if (asked !== undefined) others.grant_types = asked.includes('refresh_token') ? grants : grants.slice(0, 1);
  if (others.response_types !== undefined) others.response_types = ['code'];
  const scopeText = scope?.trim();
  if (scopeText !== undefined && scopeText !== '' && !isScope(scopeText))
    return refuse('scope must be a list of scope values with spaces between them (RFC 6749 3.3).');
  return {
    ok: true,
    client: {
      redirectUris: redirects.uris,
      name: cleanName(name),
      scope: scopeText === undefined || scopeText === '' ? undefined : scopeText,
      members: inferApplicationType(others, redirects.uris),
    },
  };
}

function findCheck(name: string): Check | undefined {
  const hash = name.indexOf('#');
  if (hash === -1) return memberChecks.get(name);
  const base = name.slice(0, hash);
  return translated.has(base) && /^#[A-Za-z0-9-]{1,35}$/.test(name.slice(hash)) ? memberChecks.get(base) : undefined;
}

function readRedirectUris(
  value: unknown,
  allowed: readonly string[],
  trusted: readonly string[],
): { readonly ok: true; readonly uris: readonly string[] } | Extract<ClientMetadataResult, { readonly ok: false }> {
  if (!Array.isArray(value) || value.length === 0)
    return refuse('redirect_uris must be a list with at least one URI.', 'invalid_redirect_uri');
  if (value.length > maxRedirectUris)
    return refuse(`redirect_uris may have ${maxRedirectUris} entries at most.`, 'invalid_redirect_uri');
  const uris: string[] = [];
  for (const uri of value as readonly unknown[]) {
    const problem =
      typeof uri === 'string' ? findRedirectUriProblem(uri, allowed, trusted) : 'a redirect URI must be a string';
    if (problem !== undefined || typeof uri !== 'string')
      return refuse(`redirect_uris: ${problem ?? ''}.`, 'invalid_redirect_uri');
    if (!uris.includes(uri)) uris.push(uri);
  }
  return { ok: true, uris };
}

/** Consent pages and logs show the name: one line, no invisible characters. */
function cleanName(name: string | undefined): string | undefined {
  const clean = name
    ?.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, 256)
    .toWellFormed();
  return clean === '' ? undefined : clean;
}

/** OpenID registration 2: with the default `web`, an IdP refuses http and custom schemes. Only native applications have those. */
function inferApplicationType(members: Readonly<Record<string, unknown>>, redirectUris: readonly string[]): JsonObject {
  const isNative = redirectUris.some((uri) => isLoopbackRedirect(uri) || !/^https?:/i.test(uri));
  return isNative ? { ...members, application_type: 'native' } : members;
}

function refuse(
  description: string,
  error: 'invalid_client_metadata' | 'invalid_redirect_uri' = 'invalid_client_metadata',
): Extract<ClientMetadataResult, { readonly ok: false }> {
  return { ok: false, error, description };
}
