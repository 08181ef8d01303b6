// The step of a login flow that a request was: recorded on the request by flow-recorder.ts, read by flow-inspector.ts when it ends.

/** What is known about a step of a login flow. Every member but the name may be unknown. */
export interface FlowStep {
  /** The name of an own endpoint ("register", "token"...), or "access": a request to the MCP server itself. */
  readonly name: string;
  /** namespace/name of the ProxyPolicy. */
  readonly policy?: string | undefined;
  /** Path of the protected resource; '' for the root. */
  readonly resource?: string | undefined;
  /** The login flow in force: Facade, Broker, Issuer, Direct. */
  readonly flow?: string | undefined;
  /** Hash of the client_id, as `hashIdentifier` makes it. */
  readonly clientId?: string | undefined;
  /** Hashes of values that link steps of the same login: a state, a code, a refresh token. Never shown. */
  readonly links?: readonly string[];
  /** The client_name of the client. */
  readonly clientName?: string | undefined;
  /** Host of the client's redirect URI: where the user is sent in the end. */
  readonly redirectHost?: string | undefined;
  readonly scope?: string | undefined;
  readonly grantType?: string | undefined;
  /** The error code of an OAuth answer (RFC 6749 5.2, RFC 7591 3.2.2). */
  readonly error?: string | undefined;
  /** For the operator, when a request was refused; the request's own detail when absent. */
  readonly detail?: string | undefined;
  /** What happened on the way, one sentence each: "the IdP refused scope; registered without". */
  readonly notes?: readonly string[];
}
