// Judges a metadata document of the IdP (RFC 8414 3.3, OpenID Connect Discovery 4.3) before anything in it is used or passed on.
import { isClusterName, isLoopbackHost } from '../../../../base/local-names.ts';
import { isJsonObject, type JsonObject } from '../../../../base/json-object.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';

export interface MetadataRules {
  /** As configured. */
  readonly issuer: string;
  /** From the preset, when the document may name a different issuer. */
  readonly acceptsIssuer: ((configured: string, found: string) => boolean) | undefined;
  /** http endpoints are accepted beyond loopback and cluster. */
  readonly allowInsecureHttp: boolean;
}

type MetadataVerdict =
  | { readonly ok: true; readonly metadata: IdpMetadata }
  /** Completes "the document ...". */
  | { readonly ok: false; readonly problem: string };

/** Members that are lists of strings. A member of another type is dropped. */
const lists: ReadonlySet<string> = new Set([
  'response_types_supported',
  'response_modes_supported',
  'grant_types_supported',
  'scopes_supported',
  'code_challenge_methods_supported',
  'token_endpoint_auth_methods_supported',
]);

/** Checks the document. Unknown members are kept unchanged. */
export function validateMetadata(document: JsonObject, rules: MetadataRules): MetadataVerdict {
  const { issuer } = document;
  if (typeof issuer !== 'string') return { ok: false, problem: 'names no issuer' };
  if (issuer !== rules.issuer && rules.acceptsIssuer?.(rules.issuer, issuer) !== true) {
    const hint = issuer.replace(/\/$/, '') === rules.issuer.replace(/\/$/, '') ? '; a trailing slash matters' : '';
    return { ok: false, problem: `names the issuer ${quote(issuer)} and not ${quote(rules.issuer)}${hint}` };
  }
  const problem = findEndpointProblem(document, rules.allowInsecureHttp);
  if (problem !== undefined) return { ok: false, problem };
  for (const name of ['authorization_endpoint', 'token_endpoint'])
    if (typeof document[name] !== 'string') return { ok: false, problem: `has no ${name}` };
  const kept = Object.entries(document).filter(
    ([name, value]) => value !== null && !(lists.has(name) && !isTextList(value)),
  );
  const metadata: Record<string, unknown> = Object.fromEntries(kept);
  if (typeof metadata['authorization_response_iss_parameter_supported'] !== 'boolean')
    delete metadata['authorization_response_iss_parameter_supported'];
  return { ok: true, metadata: { ...metadata, issuer } };
}

/** Checks every URL: clients open some of them in a browser or even pass them to a shell. */
function findEndpointProblem(document: JsonObject, allowInsecureHttp: boolean): string | undefined {
  for (const [name, value] of Object.entries(document)) {
    if (name === 'mtls_endpoint_aliases' && isJsonObject(value)) {
      const problem = findEndpointProblem(value, allowInsecureHttp);
      if (problem !== undefined) return problem;
    }
    if (value === null || (!name.endsWith('_endpoint') && name !== 'jwks_uri')) continue;
    const url = typeof value === 'string' ? URL.parse(value) : null;
    if (url === null) return `has a ${name} that is not a URL`;
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      return `has a ${name} with the scheme ${url.protocol}, which is neither http nor https`;
    if (url.username !== '' || url.password !== '') return `has a ${name} with a user name or password in it`;
    if (url.protocol === 'http:' && !allowInsecureHttp && !isLoopbackHost(url.hostname) && !isClusterName(url.hostname))
      return `has a ${name} that is not https; http beyond loopback and cluster needs allowInsecureHttp`;
  }
  return undefined;
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text);
}
