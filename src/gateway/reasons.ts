// The one place that maps what went wrong to HTTP. A reason is stable: it is in the answer, the access log, the metric label
// and, later, the inspector. `description` is what a client reads; details for the operator go to the log.

export interface ReasonDefinition {
  readonly status: number;
  readonly description: string;
}

export const reasons = {
  bad_request: { status: 400, description: 'The request is malformed.' },
  bad_target: { status: 400, description: 'The request target is not a valid path.' },
  missing_host: { status: 400, description: 'The request has no valid Host.' },
  header_timeout: { status: 408, description: 'The request head did not arrive in time.' },
  headers_too_large: { status: 431, description: 'The request headers are larger than this gateway accepts.' },
  too_many_headers: { status: 431, description: 'The request has more header fields than this gateway accepts.' },
  too_many_connections: {
    status: 503,
    description: 'The gateway has reached its connection limit. Try again shortly.',
  },
  misdirected_request: { status: 421, description: 'This connection does not serve the requested host.' },
  origin_not_allowed: { status: 403, description: 'The Origin of this request is not allowed here.' },
  host_not_allowed: { status: 403, description: 'The Host of this request is not allowed on a loopback listener.' },
  no_route: { status: 404, description: 'No route matches this request.' },
  session_gone: { status: 404, description: 'The MCP session is not known. Initialize a new one.' },
  route_invalid: {
    status: 500,
    description: 'This route is not configured correctly. The operator of this gateway can see why.',
  },
  backend_invalid: {
    status: 500,
    description: 'The backend of this route is not configured correctly. The operator of this gateway can see why.',
  },
  policy_invalid: {
    status: 500,
    description:
      'A policy that protects this route is not configured correctly, so the route is closed. The operator of this gateway can see why.',
  },
  upgrade_failed: { status: 502, description: 'The upstream server did not switch protocols.' },
  upstream_unreachable: { status: 502, description: 'The upstream server cannot be reached.' },
  upstream_reset: { status: 502, description: 'The upstream server closed the connection before it answered.' },
  upstream_protocol_error: { status: 502, description: 'The upstream server sent an answer that is not valid HTTP.' },
  no_endpoints: { status: 503, description: 'The backend of this route has no ready endpoint.' },
  upstream_overloaded: {
    status: 503,
    description: 'Too many requests are waiting for the upstream server. Try again shortly.',
  },
  draining: { status: 503, description: 'The gateway is shutting down. Try again.' },
  upstream_connect_timeout: { status: 504, description: 'The upstream server did not accept a connection in time.' },
  upstream_timeout: { status: 504, description: 'The upstream server did not answer in time.' },
  upstream_idle_timeout: { status: 504, description: 'The upstream server was silent for too long.' },
  request_timeout: { status: 504, description: 'The request took longer than this route allows.' },
  internal_error: {
    status: 500,
    description: 'The gateway failed to handle this request. Its log has the details under the request id.',
  },
  // After the head was sent these end the stream as an error; they have no answer of their own.
  client_disconnected: { status: 499, description: 'The client went away.' },
  upstream_aborted: { status: 502, description: 'The upstream server broke off its answer.' },
} as const satisfies Record<string, ReasonDefinition>;

export type Reason = keyof typeof reasons;
