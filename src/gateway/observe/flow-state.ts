// What a login has come to, by its steps: the state, and in one sentence why, or what it waits for. Pure.
import { formatEndpointPath } from '../../ir/endpoint-paths.ts';

/**
 * `authorized`: a request with a token of this flow was let in; `refused`: the last word was no; `abandoned`: nothing more came for as long as a login may take.
 */
export type FlowState = 'in progress' | 'authorized' | 'refused' | 'abandoned';

/** What counts of a step. */
interface JudgedStep {
  readonly name: string;
  /** ISO 8601. */
  readonly at: string;
  readonly status: number;
  readonly outcome: 'ok' | 'challenged' | 'refused' | 'failed';
  readonly reason: string | null;
  readonly detail: string | null;
}

/** What is known of a flow. */
interface JudgedFlow {
  readonly steps: readonly JudgedStep[];
  readonly acceptedRequests: number;
  /** Facade, Broker, Issuer or Direct. */
  readonly flow: string | undefined;
  /** Path of the protected resource; '' for the root. */
  readonly resource: string;
  readonly lastAtMs: number;
}

/** What anybody may look at before a login, and after one that failed. */
export const discoverySteps: ReadonlySet<string> = new Set([
  'protected-resource-metadata',
  'authorization-server-metadata',
  'openid-configuration',
  'jwks',
]);

/** As long as the gateway takes the answer to a login. Nobody waits longer for one that goes around it, either. */
const loginLifetimeMs = 10 * 60_000;

/** The state of a flow, and the sentence that goes with it; null: there is nothing to say. */
export function judgeFlow(
  flow: JudgedFlow,
  nowMs: number,
): { readonly state: FlowState; readonly note: string | null } {
  const { steps, acceptedRequests, lastAtMs } = flow;
  // Metadata that is read again is not a second login: what was refused stays so.
  const last = steps.findLast(({ name, outcome }) => !(discoverySteps.has(name) && outcome === 'ok'));
  if (last?.outcome === 'refused' || last?.outcome === 'failed')
    return { state: 'refused', note: describeRefusal(flow, last) };
  if (acceptedRequests > 0)
    return { state: 'authorized', note: last?.name === 'revoke' ? 'The client has ended its session.' : null };
  const waits = describeWait(flow, last);
  if (nowMs - lastAtMs <= loginLifetimeMs) return { state: 'in progress', note: waits };
  return { state: 'abandoned', note: `Nothing more came for 10 minutes. ${waits}` };
}

function describeRefusal({ steps, flow }: JudgedFlow, { name, reason, detail, at }: JudgedStep): string | null {
  const said = detail ?? reason;
  if (name !== 'access' || (reason !== 'token_expired' && reason !== 'token_not_yet_valid')) return said;
  const issued = steps.findLast((step) => step.name === 'token' && step.outcome === 'ok');
  if (issued === undefined || Date.parse(at) - Date.parse(issued.at) > newTokenMs) return said;
  const clocks =
    flow === 'Issuer' ? 'the clocks of the gateways' : 'the clocks of the identity provider and of this gateway';
  return `${said ?? ''} The token was given out just before: ${clocks} do not agree.`.trim();
}

/** A token that is younger is not too old. */
const newTokenMs = 30_000;

const elsewhere =
  'It logs in at the identity provider itself, which tells this gateway nothing: an error there shows in the log of the identity provider, and in mcp-gatehouse login.';

/** People log in through the gateway. */
function isLoggedInHere(flow: JudgedFlow['flow']): boolean {
  return flow === 'Broker' || flow === 'Issuer';
}

/** After this a client that is registered already needs this gateway no more. */
const lastSeen: Readonly<Record<string, string>> = {
  Facade: 'authorization-server-metadata',
  Direct: 'protected-resource-metadata',
};

function describeWait({ flow, resource, steps }: JudgedFlow, last: JudgedStep | undefined): string {
  switch (last?.name) {
    case 'authorize':
    case 'consent':
      if (last.status < 300) return 'The user has not answered the consent page.';
      return `The browser was sent to the identity provider and has not come back. If it shows an error there: is the callback of this gateway, ${formatEndpointPath(resource, 'callback')} at this host, a redirect URI of the client?`;
    case 'callback':
      return 'The client has its code, and has not asked for a token.';
    case 'revoke':
      return 'The client has ended its session.';
    case 'token':
      return 'The client has its token, and has not used it here.';
    case 'register':
      return isLoggedInHere(flow)
        ? 'The client is registered, and has not begun to log in.'
        : `The client is registered. ${elsewhere}`;
    default:
      return steps.some(
        ({ name }) => !isLoggedInHere(flow) && (name === lastSeen[flow ?? ''] || name === 'openid-configuration'),
      )
        ? `The client knows where to log in. ${elsewhere}`
        : 'The client has not begun to log in.';
  }
}
