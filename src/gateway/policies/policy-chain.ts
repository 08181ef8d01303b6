// The order in which policies judge a request: first those of the route, then those of the backend that was chosen. Each step is a file of its own.
import type { PolicyKind } from '../../ir/policy-kinds.ts';
import { authenticateJwt } from '../authentication/jwt/authenticate-jwt.ts';
import { authenticateMcp } from '../authentication/mcp/authenticate-mcp.ts';
import { authorizeRequest } from '../authorization/authorize-request.ts';
import type { BackendRequest, RouteRequest, Step } from '../request/run-steps.ts';
import { applyCors } from './apply-cors.ts';
import { applyMessageRules } from './apply-message-rules.ts';
import { failClosed } from './fail-closed.ts';
import { notePublicAccess } from './public-access.ts';
import { readFederatedMessage } from './read-federated-message.ts';

/** The step of each kind of policy; every kind has one. */
export const policySteps = {
  'traffic.cors': applyCors,
  'traffic.publicAccess': notePublicAccess,
  'traffic.jwtAuthentication': authenticateJwt,
  'backend.mcp.authentication': authenticateMcp,
  'traffic.authorization': authorizeRequest,
  'backend.mcp.authorization': applyMessageRules,
} satisfies Readonly<Record<PolicyKind, Step<BackendRequest>>>;

export const routeChain: readonly Step<RouteRequest>[] = [
  failClosed, // before anything is answered: a policy that cannot be enforced closes the route, for preflights too
  policySteps['traffic.cors'], // before authentication: browsers send preflights without credentials, and must be able to read a denial
  policySteps['traffic.publicAccess'], // where it is set, JWT authentication is not
  policySteps['traffic.jwtAuthentication'], // who is asking, where the route wants to know
];

/** A redirect needs no backend, but the rules have to allow it. */
export const redirectChain: readonly Step<RouteRequest>[] = [policySteps['traffic.authorization']];

export const backendChain: readonly Step<BackendRequest>[] = [
  policySteps['backend.mcp.authentication'], // who is asking, where the backend wants to know
  policySteps['traffic.authorization'], // whether they may: after all authentication
  policySteps['backend.mcp.authorization'], // what they may: rules over MCP messages
];

/** All that comes before a request is forwarded. */
export const backendSteps: readonly Step<BackendRequest>[] = [
  ...backendChain,
  readFederatedMessage, // which of several servers it concerns; after the rules, which read the message as well
];
