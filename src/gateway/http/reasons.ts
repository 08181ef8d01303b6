// The one place that maps a failure to an HTTP status. A reason is stable: it is in the answer, the access log, the metric label
// and the inspector. Clients read `description`; details for the operator go to the log.

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
  policy_unattached: {
    status: 403,
    description:
      'A policy of this gateway protects nothing, because its target does not exist, so routes without protection are closed. The operator of this gateway can see which policy.',
  },
  route_unprotected: {
    status: 403,
    description:
      'No policy protects this route, and this gateway serves only protected routes. The operator of this gateway can see what is missing.',
  },
  upgrade_failed: { status: 502, description: 'The upstream server did not switch protocols.' },
  upstream_unreachable: { status: 502, description: 'The upstream server cannot be reached.' },
  upstream_reset: { status: 502, description: 'The upstream server closed the connection before it answered.' },
  upstream_protocol_error: { status: 502, description: 'The upstream server sent an answer that is not valid HTTP.' },
  loop_detected: {
    status: 508,
    description: 'The request loops: a backend of this route sends it back to this gateway.',
  },
  no_endpoints: { status: 503, description: 'The backend of this route has no ready endpoint.' },
  upstream_overloaded: {
    status: 503,
    description: 'Too many requests are waiting for the upstream server. Try again shortly.',
  },
  picker_unavailable: {
    status: 503,
    description: 'The endpoint picker of this inference pool cannot be reached. Try again shortly.',
  },
  picker_endpoint_refused: {
    status: 503,
    description: 'The endpoint picker chose no endpoint of this inference pool. Try again shortly.',
  },
  configuration_stale: {
    status: 503,
    description:
      'This gateway has had no contact with its controller for too long, so it serves nothing until it has. Try again shortly.',
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
  // Tokens (authentication/token). 401 asks for another token; 403 tells the client that logging in again would not help.
  token_malformed: { status: 401, description: 'The token is not a well-formed JSON Web Token.' },
  token_too_large: { status: 401, description: 'The token is larger than this gateway accepts.' },
  token_wrong_type: { status: 401, description: 'The token is not an access token. Send an access token.' },
  token_unsupported_header: {
    status: 401,
    description: 'The token requires an extension (crit) that this gateway does not support.',
  },
  token_unsupported_algorithm: {
    status: 401,
    description: 'The token is signed with an algorithm that is not accepted for its key.',
  },
  token_unknown_key: { status: 401, description: 'The token is signed with a key that its issuer does not publish.' },
  token_bad_signature: { status: 401, description: 'The signature of the token is wrong.' },
  token_wrong_issuer: { status: 401, description: 'The token comes from an issuer that is not accepted here.' },
  token_wrong_audience: { status: 401, description: 'The token was issued for another audience.' },
  token_expired: { status: 401, description: 'The token has expired.' },
  token_not_yet_valid: { status: 401, description: 'The token is not valid yet.' },
  token_missing_claim: { status: 401, description: 'The token lacks a claim that is required here.' },
  token_is_id_token: { status: 401, description: 'The token is an ID token. Send an access token.' },
  token_without_scopes: {
    status: 403,
    description:
      'The token carries no scopes, so the required scopes cannot be checked. Another login may not change that.',
  },
  insufficient_scope: { status: 403, description: 'The token lacks a scope that is required here.' },
  missing_subject: {
    status: 403,
    description: 'The token names no user (sub), so a session cannot be bound to one.',
  },
  rbac_denied: { status: 403, description: 'The rules of this gateway do not allow this request.' },
  signing_key_missing: {
    status: 503,
    description:
      'This gateway has no key to sign access tokens with, so it issues and accepts none. The operator of this gateway can see why.',
  },
  keys_unavailable: {
    status: 503,
    description: 'The keys of the identity provider could not be fetched yet. Try again shortly.',
  },
  // Login through the gateway (authentication/login/endpoints: authorize, consent, callback, token).
  unknown_client: { status: 400, description: 'This gateway does not know the client. Register the client again.' },
  client_document_invalid: {
    status: 400,
    description: 'The client metadata document at the client_id URL cannot be fetched or is not valid.',
  },
  redirect_uri_not_registered: {
    status: 400,
    description:
      'The redirect URI is not registered for this client, or the operator of this gateway does not allow it.',
  },
  authorization_request_invalid: { status: 400, description: 'The authorization request is malformed.' },
  wrong_resource: { status: 400, description: 'The request names a different resource than this one.' },
  consent_denied: { status: 403, description: 'The user denied access to the client.' },
  consent_needed: {
    status: 403,
    description: 'The user must give consent, but the client asked for no interaction (prompt=none).',
  },
  login_state_invalid: {
    status: 400,
    description:
      'This login was not started here, was altered, or took longer than ten minutes. Start the login again.',
  },
  login_other_browser: { status: 400, description: 'This login was started in another browser, or has ended already.' },
  idp_login_refused: { status: 403, description: 'The identity provider ended the login with an error.' },
  idp_wrong_issuer: { status: 502, description: 'The answer to this login does not come from the identity provider.' },
  token_request_invalid: { status: 400, description: 'The token request is malformed.' },
  grant_unsupported: { status: 400, description: 'The grant type must be authorization_code or refresh_token.' },
  grant_invalid: { status: 400, description: 'The code or refresh token is not valid for this client.' },
  idp_refused_grant: {
    status: 400,
    description: 'The identity provider refused the code, the refresh token or the grant.',
  },
  idp_refused_client: {
    status: 503,
    description:
      "The identity provider does not accept the gateway's own client. The operator of this gateway can see why.",
  },
  // Who somebody is (authentication/login/identity).
  identity_invalid: {
    status: 400,
    description: 'What the identity provider says about the user cannot be trusted. Log in again.',
  },
  identity_not_allowed: { status: 403, description: 'This account is not among those that may use this server.' },
  // MCP authentication: what a client did, and what the gateway or the identity provider cannot do (authentication/mcp, authentication/login).
  missing_token: {
    status: 401,
    description: 'This request needs a bearer token. The WWW-Authenticate header has the details.',
  },
  invalid_request: {
    status: 400,
    description: 'Send exactly one access token, in one Authorization header and never in the URL.',
  },
  method_not_allowed: {
    status: 405,
    description: 'This endpoint does not accept this method. The Allow header lists the accepted methods.',
  },
  body_too_large: { status: 413, description: 'The request body is larger than this endpoint accepts.' },
  body_timeout: { status: 408, description: 'The request body did not arrive in time.' },
  seal_key_missing: {
    status: 500,
    description:
      'This gateway has no key to seal sessions and logins with. The operator of this gateway can see how to configure one.',
  },
  store_unavailable: {
    status: 503,
    description: 'The store of sessions does not answer at the moment. Try again shortly.',
  },
  grant_revoked: {
    status: 400,
    description: 'This session has ended: it was revoked, or one of its refresh tokens was used twice. Log in again.',
  },
  idp_unavailable: {
    status: 503,
    description: 'The identity provider cannot be reached at the moment. Try again shortly.',
  },
  invalid_client_metadata: { status: 400, description: 'The client cannot be registered with this metadata.' },
  invalid_redirect_uri: { status: 400, description: 'This gateway does not accept a redirect URI of the client.' },
  registration_refused: { status: 400, description: 'The identity provider refused the metadata of the client.' },
  registration_denied: {
    status: 403,
    description:
      'The identity provider does not let this gateway register the client. The operator of this gateway finds the cause by the request id.',
  },
  registration_limited: { status: 429, description: 'Too many registrations from this address. Try again shortly.' },
  token_limited: { status: 429, description: 'Too many token requests from this address. Try again shortly.' },
  // Rules over MCP messages (mcp/judge). Most of these are answered as JSON-RPC, with a code and a sentence of their own.
  message_malformed: { status: 400, description: 'The body is not a valid MCP message.' },
  header_mismatch: { status: 400, description: 'The headers and the body of the message do not agree.' },
  method_unknown: { status: 404, description: 'The protocol version does not have this method.' },
  /** Answered like a server that does not have the item. */
  name_ambiguous: {
    status: 200,
    description: 'It cannot be told whose tool this is. Call it by its name in the list of tools.',
  },
  item_hidden: { status: 200, description: 'The tool, prompt or resource is not known.' },
  body_not_readable: {
    status: 415,
    description: 'Send the message as application/json in UTF-8, without a content encoding.',
  },
  bodies_over_budget: {
    status: 503,
    description: 'This gateway has reached its memory limit for messages. Try again shortly.',
  },
  upgrade_refused: { status: 403, description: 'This route does not allow protocol upgrades.' },
  // These abort the stream after the head was sent, so they have no answer of their own.
  client_disconnected: { status: 499, description: 'The client went away.' },
  upstream_aborted: { status: 502, description: 'The upstream server broke off its answer.' },
} as const satisfies Record<string, ReasonDefinition>;

export type Reason = keyof typeof reasons;
