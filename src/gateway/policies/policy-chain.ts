// The order in which policies judge a request: first those of the route, then those of the backend that was chosen. Each step is a file of its own.
import { authenticateJwt } from '../authentication/jwt/authenticate-jwt.ts';
import { authenticateMcp } from '../authentication/mcp/authenticate-mcp.ts';
import { authorizeRequest } from '../authorization/authorize-request.ts';
import type { BackendRequest, RouteRequest, Step } from '../request/run-steps.ts';
import { applyCors } from './apply-cors.ts';
import { applyMessageRules } from './apply-message-rules.ts';
import { failClosed } from './fail-closed.ts';

export const routeChain: readonly Step<RouteRequest>[] = [
  failClosed, // before anything is answered: what cannot be enforced closes the route, for preflights too
  applyCors, // before authentication: browsers send preflights without credentials, and must be able to read a denial
  authenticateJwt, // who is asking, where the route wants to know; rules come after a backend had the chance to ask as well
];

/** A redirect needs no backend, but the leave of the rules. */
export const redirectChain: readonly Step<RouteRequest>[] = [authorizeRequest];

export const backendChain: readonly Step<BackendRequest>[] = [
  authenticateMcp, // who is asking, where the backend wants to know
  authorizeRequest, // whether they may: rules over the request and the claims of its token
  applyMessageRules, // what they may: rules over MCP messages
];
