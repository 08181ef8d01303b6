// The second half of discovery: the authorization server's metadata, in every form that clients ask for (RFC 8414, OpenID Connect Discovery).
import { adviseOnIssuer } from './advise-on-issuer.ts';
import { adviseOnIdp, isWebUrl } from './discover-resource.ts';
import type { Narrator } from './narration.ts';
import { endSentence, joinSaid } from './sentence.ts';
import { fetchTold, readJsonObject, readString, readStrings, showRequestId } from './told-fetch.ts';

/** What the rest of the flow needs of an authorization server. */
export interface FoundServer {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | undefined;
  /** RFC 7009. */
  readonly revocationEndpoint: string | undefined;
  /** Undefined: not said. */
  readonly tokenAuthMethods: readonly string[] | undefined;
  readonly sendsIss: boolean;
  readonly takesMetadataDocuments: boolean;
  readonly scopesSupported: readonly string[] | undefined;
}

/** The URLs at which metadata of an issuer can be, in the order in which MCP clients ask. */
function listMetadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const forms = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(forms)];
}

/** Step 3. Every form is asked for, since different clients ask for different ones; the first good one is used. */
export async function findServerMetadata(
  narrator: Narrator,
  issuer: string,
  isGuessed: boolean,
): Promise<FoundServer | undefined> {
  narrator.begin('Authorization server metadata', 'RFC 8414 3, OpenID Connect Discovery 4');
  let used: Readonly<Record<string, unknown>> | undefined;
  let foreign: string | undefined;
  let silence: { readonly problem: string; readonly advice: string } | undefined;
  let refusal: Readonly<Record<string, unknown>> | undefined;
  for (const url of listMetadataUrls(issuer)) {
    const asked = await fetchTold(narrator, url, { headers: { accept: 'application/json' } });
    if (!asked.ok) {
      silence ??= asked;
      continue;
    }
    const document = readJsonObject(asked.answer.text);
    if (asked.answer.status >= 500) refusal ??= document;
    if (asked.answer.status !== 200) continue;
    if (document === undefined) {
      narrator.find('remark', 'Not a JSON object: clients that ask here first stop, or go on to the next.');
      continue;
    }
    const found = readString(document, 'issuer');
    if (found !== issuer && !isGuessed) {
      narrator.find('remark', `\`issuer\` is ${found ?? 'missing'}, not ${issuer}: not to be used (RFC 8414 3.3).`);
      foreign ??= found;
      continue;
    }
    narrator.find(
      'good',
      used === undefined ? '`issuer` is identical. This document is used.' : '`issuer` is identical.',
    );
    used ??= document;
  }
  if (used === undefined && isGuessed) return guessEndpoints(narrator, issuer);
  if (used === undefined) {
    tellFailure(narrator, issuer, { foreign, silence, refusal });
    return undefined;
  }
  return judgeServerMetadata(narrator, issuer, used);
}

/** What came in place of metadata. */
interface MetadataFailure {
  /** Another issuer. */
  readonly foreign: string | undefined;
  /** No answer at all. */
  readonly silence: { readonly problem: string; readonly advice: string } | undefined;
  /** The body of a 5xx. */
  readonly refusal: Readonly<Record<string, unknown>> | undefined;
}

function tellFailure(narrator: Narrator, issuer: string, { foreign, silence, refusal }: MetadataFailure): void {
  const description = readString(refusal, 'error_description');
  if (foreign !== undefined) {
    const isSlash = foreign.replace(/\/$/, '') === issuer.replace(/\/$/, '');
    narrator.find(
      'bad',
      `No form of the metadata can be used${isSlash ? ': the two issuers differ in the slash at the end.' : '.'}`,
      `The issuer in authorization_servers and in the metadata must be the same text, down to the last slash: with this gateway, set issuer: ${foreign} in the policy. Clients built on SDK v1 go on here; newer ones stop.`,
    );
  } else if (refusal !== undefined) {
    const said = joinSaid(readString(refusal, 'error'), description);
    narrator.find(
      'bad',
      `No form of the metadata can be used${said === '' ? '.' : `: ${endSentence(said)}`}`,
      adviseOnIssuer(description ?? '') ?? adviseOnIdp(description ?? ''),
    );
    showRequestId(narrator, refusal);
  } else if (silence !== undefined) {
    narrator.find('bad', `The authorization server cannot be reached: ${endSentence(silence.problem)}`, silence.advice);
  } else
    narrator.find(
      'bad',
      'No form of the metadata can be used.',
      `One of these URLs must answer 200 with the metadata of ${issuer}, without a login or a redirect.`,
    );
}

function judgeServerMetadata(
  narrator: Narrator,
  issuer: string,
  document: Readonly<Record<string, unknown>>,
): FoundServer | undefined {
  const authorizationEndpoint = readString(document, 'authorization_endpoint');
  const tokenEndpoint = readString(document, 'token_endpoint');
  const registrationEndpoint = readString(document, 'registration_endpoint');
  for (const [name, url, isNeeded] of [
    ['authorization_endpoint', authorizationEndpoint, true],
    ['token_endpoint', tokenEndpoint, true],
    ['registration_endpoint', registrationEndpoint, false],
  ] as const) {
    if (url === undefined ? !isNeeded : isWebUrl(url)) continue;
    const what = url === undefined ? 'is missing' : 'is not an http(s) URL';
    narrator.find(
      'bad',
      `\`${name}\` ${what}.`,
      'Without it nobody can log in. This is for the authorization server to mend.',
    );
    return undefined;
  }
  const methods = readStrings(document, 'code_challenge_methods_supported');
  if (methods === undefined) {
    narrator.find(
      'remark',
      'PKCE is not mentioned (`code_challenge_methods_supported`): clients that follow MCP strictly stop here.',
    );
  } else if (!methods.includes('S256')) {
    narrator.find(
      'bad',
      `PKCE with S256 is not offered, only ${methods.join(', ') || 'nothing'}.`,
      'MCP requires S256 (RFC 7636).',
    );
    return undefined;
  } else narrator.find('good', 'PKCE with S256.');
  const server: FoundServer = {
    issuer,
    authorizationEndpoint: authorizationEndpoint!,
    tokenEndpoint: tokenEndpoint!,
    registrationEndpoint,
    revocationEndpoint: findRevocation(document),
    tokenAuthMethods: readStrings(document, 'token_endpoint_auth_methods_supported'),
    sendsIss: document['authorization_response_iss_parameter_supported'] === true,
    takesMetadataDocuments: document['client_id_metadata_document_supported'] === true,
    scopesSupported: readStrings(document, 'scopes_supported'),
  };
  narrator.show('authorization_endpoint', server.authorizationEndpoint, { minor: true });
  narrator.show('token_endpoint', server.tokenEndpoint, { minor: true });
  if (registrationEndpoint !== undefined) narrator.show('registration_endpoint', registrationEndpoint, { minor: true });
  return server;
}

/** Nobody needs it to log in: one that is no URL is left alone. */
function findRevocation(document: Readonly<Record<string, unknown>>): string | undefined {
  const url = readString(document, 'revocation_endpoint');
  return url !== undefined && isWebUrl(url) ? url : undefined;
}

/** MCP 2025-03-26: without any metadata the endpoints are at fixed places. */
function guessEndpoints(narrator: Narrator, origin: string): FoundServer {
  narrator.find(
    'remark',
    'No metadata: on to /authorize, /token and /register, as clients of the 2025-03-26 specification do.',
  );
  return {
    issuer: origin,
    authorizationEndpoint: `${origin}/authorize`,
    tokenEndpoint: `${origin}/token`,
    registrationEndpoint: `${origin}/register`,
    revocationEndpoint: undefined,
    tokenAuthMethods: undefined,
    sendsIss: false,
    takesMetadataDocuments: false,
    scopesSupported: undefined,
  };
}
