// Records steps of the login flow for the flow inspector. Each step puts a note on the request; observers read it when the request has
// ended, with its status, reason and duration. Without observers the cost is one object.
// A note never holds a token, a code, a secret or a cookie. Identifiers are kept as hashes.
//   the MCP path:            recordStep(context, { name: 'access', policy, resource, flow })
//   the own endpoints:       recordEndpointStep(endpoint, request, answer), once, where they are all served
//   on the way, by anybody:  noteStep(context, 'The IdP refused scope; registered without it.')
import { createHash } from 'node:crypto';
import type { FlowStep } from '../../request/flow-step.ts';
import { findHeader } from '../../http/headers.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from './oauth-endpoint.ts';
import type { RequestContext } from '../../request/request-context.ts';

/** Holds the note of a step. */
export type StepHolder = Pick<RequestContext, 'flowStep'>;

/** Records a step on the request. A second call overrides members of the first; notes and links are appended. */
export function recordStep(context: StepHolder, step: Partial<FlowStep>): void {
  const before = context.flowStep;
  // Every request to a protected server comes here once.
  if (before === undefined && hasName(step) && step.notes === undefined && step.links === undefined) {
    context.flowStep = step;
    return;
  }
  const known = Object.fromEntries(
    Object.entries(step).filter(([, value]) => value !== undefined && !Array.isArray(value)),
  );
  const notes = [...(before?.notes ?? []), ...(step.notes ?? []).map(shorten)].slice(0, maxNotes);
  const links = [...(before?.links ?? []), ...(step.links ?? [])].slice(0, maxLinks);
  context.flowStep = {
    name: 'access',
    ...before,
    ...known,
    ...(notes.length > 0 && { notes }),
    ...(links.length > 0 && { links }),
  };
}

function hasName(step: Partial<FlowStep>): step is FlowStep {
  return step.name !== undefined;
}

/** Adds one sentence to the step that the request is. */
export function noteStep(context: StepHolder, note: string): void {
  recordStep(context, { notes: [note] });
}

/** Records the step of one of the gateway's own endpoints, read from its request and its answer. */
export function recordEndpointStep(endpoint: OAuthEndpoint, request: OAuthRequest, answer: OAuthAnswer): void {
  const { config, path } = request.resource;
  const asked = readParameters(request);
  const location = URL.parse(findHeader(answer.headers, 'location') ?? '')?.searchParams;
  const answered = readJsonObject(answer.body);
  const clientId = asked.get('client_id') ?? readBasicUser(request.context) ?? readString(answered?.['client_id']);
  const readText = (name: string): string | undefined => {
    const value = asked.get(name);
    return value === undefined ? undefined : shorten(value);
  };
  const linked = [
    asked.get('state'),
    location?.get('state'),
    // Codes and refresh tokens link the step that issues them to the step that uses them. In the callback, `code` is the IdP's own and links nothing.
    location?.get('code'),
    asked.get('refresh_token'),
    // Of a revocation (RFC 7009).
    asked.get('token'),
    readString(answered?.['refresh_token']),
    asked.get('grant_type') === undefined ? undefined : asked.get('code'),
  ].filter((value) => value !== undefined && value !== null);
  recordStep(request.context, {
    name: endpoint.name,
    policy: config.source,
    resource: path,
    flow: config.idp.getFlow()?.flow,
    clientId: clientId === undefined ? undefined : hashIdentifier(clientId),
    links: linked.map(hashIdentifier),
    clientName: readText('client_name'),
    redirectHost: readHost(asked.get('redirect_uri')),
    scope: readText('scope'),
    grantType: readText('grant_type'),
    error: readString(answered?.['error']) ?? location?.get('error') ?? undefined,
    detail: answer.detail,
  });
}

/** A hash of sixteen characters: distinguishes identifiers without revealing them. */
export function hashIdentifier(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

const maxNotes = 8;
const maxLinks = 8;
const maxText = 256;

/** Parameters of the query, of a form, or the few members of a registration that the inspector shows. */
function readParameters({ query, body, contentType }: OAuthRequest): ReadonlyMap<string, string> {
  if (body === '') return new Map(query);
  if (!contentType.includes('json')) return new Map([...query, ...new URLSearchParams(body)]);
  const members = readJsonObject(body);
  const redirects: unknown = members?.['redirect_uris'];
  const parameters = new Map<string, string>();
  for (const name of ['client_name', 'scope']) {
    const value = readString(members?.[name]);
    if (value !== undefined) parameters.set(name, value);
  }
  const redirect = Array.isArray(redirects) ? readString(redirects[0]) : undefined;
  if (redirect !== undefined) parameters.set('redirect_uri', redirect);
  return parameters;
}

/** The client of `Authorization: Basic` (RFC 6749 2.3.1), without its secret. */
function readBasicUser({ exchange }: RequestContext): string | undefined {
  const credentials = /^basic +([\w+/=-]+)$/i.exec(findHeader(exchange.headers, 'authorization') ?? '')?.[1];
  if (credentials === undefined) return undefined;
  const user = Buffer.from(credentials, 'base64').toString('utf8').split(':')[0]!;
  try {
    return decodeURIComponent(user.replaceAll('+', ' '));
  } catch {
    return user;
  }
}

function readHost(url: string | undefined): string | undefined {
  const parsed = url === undefined ? null : URL.parse(url);
  return parsed === null ? undefined : shorten(parsed.host === '' ? parsed.protocol : parsed.host);
}

function readJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function readString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function shorten(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText)}...`;
}
