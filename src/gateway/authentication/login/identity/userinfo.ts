// Userinfo (OpenID Connect Core 5.3): asked with the access token. An identity provider that cannot answer is no reason to end a session.
import { type JsonObject, isJsonObject } from '../../../../base/json-object.ts';
import { readJson } from '../../../../base/read-json.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';
import type { UserinfoList } from '../../../config/provider-preset.ts';
import { showValue } from '../../token/refusal.ts';
import { findChoice } from '../idp/chosen-by.ts';
import { hideSecrets } from '../idp/hide-secrets.ts';
import { defaultRetrySeconds, isDown, readRetryAfter } from '../idp/idp-token-request.ts';
import { deferIdentity, type IdentityFailure, refuseIdentity } from './identity-outcome.ts';

/** What is asked, and with what. */
export interface UserinfoCall {
  readonly config: Pick<McpAuthenticationConfig, 'message' | 'preset' | 'idp' | 'ca'>;
  /** Of userinfo. */
  readonly url: string;
  readonly accessToken: string;
}

export type UserinfoOutcome = { readonly kind: 'members'; readonly members: JsonObject } | IdentityFailure;

const timeoutMs = 10_000;
const maxBytes = 262_144;
const pageSize = 100;
/** A thousand organizations; more are not looked at, so that those do not let anybody in. */
const maxPages = 10;

/** Fetches userinfo: a JSON object. */
export async function fetchUserinfo(call: UserinfoCall): Promise<UserinfoOutcome> {
  const fetched = await fetchJson(call, call.url);
  if (fetched.kind !== 'value') return fetched.kind === 'absent' ? defer(call.url, 'answers 404') : fetched;
  if (!isJsonObject(fetched.value)) return defer(call.url, 'does not answer with a JSON object');
  return { kind: 'members', members: fetched.value };
}

/** Fetches a list beside userinfo, page by page; the members that follow from it. One that is not there is empty. */
export async function fetchUserinfoList(call: UserinfoCall, list: UserinfoList): Promise<UserinfoOutcome> {
  const entries: unknown[] = [];
  for (let page = 1; page <= maxPages; page += 1) {
    const url = new URL(call.url);
    url.pathname = `${url.pathname.replace(/\/$/, '')}${list.path}`;
    url.search = `?per_page=${pageSize}&page=${page}`;
    const fetched = await fetchJson(call, url.href);
    // The scope for it was not granted.
    if (fetched.kind === 'absent') break;
    if (fetched.kind !== 'value') return fetched;
    if (!Array.isArray(fetched.value)) return defer(url.href, 'does not answer with a JSON array');
    entries.push(...(fetched.value as readonly unknown[]));
    if (fetched.value.length < pageSize) break;
  }
  return { kind: 'members', members: list.read(entries) };
}

type FetchedJson = { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'absent' } | IdentityFailure;

async function fetchJson({ config, accessToken }: UserinfoCall, url: string): Promise<FetchedJson> {
  const { message, preset, idp, ca } = config;
  // It goes into a header (RFC 6750 2.1).
  if (!/^[\x21-\x7e]+$/.test(accessToken)) return refuseIdentity('the access token is not one that can be sent');
  const fetched = await idp.fetcher.fetch({
    url,
    headers: { accept: 'application/json', authorization: `Bearer ${accessToken}` },
    chosenBy: findChoice(url, message),
    ca,
    allowInsecureHttp: message.allowInsecureHttp,
    timeoutMs,
    maxBytes,
  });
  if (!fetched.ok) return deferIdentity(`userinfo: ${fetched.code}: ${fetched.message}`, defaultRetrySeconds);
  const { status, headers, body } = fetched;
  const said = hideSecrets(readProblem(body), [accessToken]);
  if (isDown(preset, status)) return deferIdentity(`${nameOf(url)} answers ${status}${said}`, readRetryAfter(headers));
  // A page comes from something in front of the identity provider.
  const isPage = readMediaType(headers) === 'text/html';
  if (status === 401 || ((status === 400 || status === 403) && !isPage))
    return refuseIdentity(`${nameOf(url)} does not accept the access token: it answers ${status}${said}`);
  if (status === 404) return { kind: 'absent' };
  if (status !== 200) return defer(url, `answers ${status}${said}`);
  if (readMediaType(headers) === 'application/jwt')
    return refuseIdentity(
      `${nameOf(url)} answers with a signed or encrypted token (application/jwt), which is not supported: take userinfo_signed_response_alg out of the client at the identity provider, so that it answers in JSON`,
    );
  const read = readJson(body, {
    maxDepth: 32,
    maxParts: Infinity,
    maxElements: Infinity,
    refuseDoubledKeys: true,
    refuseHalfCharacters: true,
  });
  return read.ok
    ? { kind: 'value', value: read.value }
    : defer(url, `answers with ${showType(headers)} that ${read.problem}`);
}

/** What it answers is not an answer: often a page of something in front of it. */
function defer(url: string, problem: string): IdentityFailure {
  return deferIdentity(`${nameOf(url)} ${problem}`, defaultRetrySeconds);
}

/** `message` of GitHub, `error` and `error_description` of RFC 6750 3; empty when there is nothing to read. */
function readProblem(body: string): string {
  if (body.length > 10_000) return '';
  const read = readJson(body, {
    maxDepth: 4,
    maxParts: Infinity,
    maxElements: Infinity,
    refuseDoubledKeys: false,
    refuseHalfCharacters: false,
  });
  if (!read.ok || !isJsonObject(read.value)) return '';
  const { error_description: description, message, error } = read.value;
  const said = description ?? message ?? error;
  return typeof said === 'string' && said !== '' ? `: ${showValue(said)}` : '';
}

function readMediaType(headers: ReadonlyMap<string, string>): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

function showType(headers: ReadonlyMap<string, string>): string {
  const type = readMediaType(headers);
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'content';
}

/** Without the query. */
function nameOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
