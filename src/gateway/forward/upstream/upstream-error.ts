// Maps what a transport reports to a reason. A dead upstream is 502, 503 or 504, never 404: that means "session gone" to an MCP client.
import type { Reason } from '../../http/reasons.ts';

/** How far a request had come when it failed. */
export type UpstreamPhase = 'connecting' | 'sent' | 'answering';

/** The endpoint did not take a connection (DNS, TCP and TLS together) in the configured time. */
export class UpstreamConnectTimeoutError extends Error {
  readonly code = 'UPSTREAM_CONNECT_TIMEOUT';
  constructor(endpoint: string, milliseconds: number) {
    super(`no connection to ${endpoint} within ${milliseconds} ms`);
  }
}

/** The endpoint is one that the gateway does not connect to. */
export class UpstreamRefusedError extends Error {
  readonly code = 'UPSTREAM_REFUSED';
  constructor(endpoint: string, refusal: string) {
    super(`${endpoint} is ${refusal}; no connection is made`);
  }
}

/** The endpoint took a connection and did not say its HTTP/2 settings in the configured time. */
export class UpstreamSettingsTimeoutError extends Error {
  readonly code = 'UPSTREAM_CONNECT_TIMEOUT';
  constructor(milliseconds: number) {
    super(`no HTTP/2 settings within ${milliseconds} ms`);
  }
}

/** The endpoint has its full number of requests in flight and of requests waiting. */
export class UpstreamOverloadedError extends Error {
  readonly code = 'UPSTREAM_OVERLOADED';
  constructor(endpoint: string) {
    super(`too many requests are waiting for ${endpoint}`);
  }
}

/** The upstream broke HTTP/1.1. */
export class UpstreamProtocolError extends Error {
  readonly code = 'UPSTREAM_PROTOCOL_ERROR';
}

/** The upstream cannot switch protocols as the client asked. */
export class UpstreamUpgradeError extends Error {
  readonly code = 'UPSTREAM_UPGRADE';
}

const pickerReasons = {
  PICKER_UNAVAILABLE: 'picker_unavailable',
  PICKER_ENDPOINT_REFUSED: 'picker_endpoint_refused',
  PICKED_ENDPOINT_UNREACHABLE: 'upstream_unreachable',
} as const;

/** The endpoint picker of an InferencePool did not lead to an answer. */
export class PickerError extends Error {
  readonly code: keyof typeof pickerReasons;
  constructor(code: keyof typeof pickerReasons, message: string, cause?: Error) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

// Reported before anything is sent, when the request itself cannot be encoded: never the upstream's fault.
const requestEncodingErrors = new Set([
  'ERR_INVALID_CHAR',
  'ERR_INVALID_HTTP_TOKEN',
  'ERR_HTTP2_INVALID_PSEUDOHEADER',
  'ERR_HTTP2_INVALID_CONNECTION_HEADERS',
]);

const protocolErrors = new Set(['UPSTREAM_PROTOCOL_ERROR', 'ERR_HTTP2_ERROR', 'ERR_HTTP2_SESSION_ERROR']);

function readCode(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

function isProtocolError(error: Error, code: string): boolean {
  return protocolErrors.has(code) || (code === 'ERR_HTTP2_STREAM_ERROR' && error.message.includes('PROTOCOL_ERROR'));
}

/** The reason that the client and the log get for an upstream failure. */
export function classifyUpstreamError(error: Error, phase: UpstreamPhase): Reason {
  const code = readCode(error);
  if (error instanceof PickerError) return pickerReasons[error.code];
  if (requestEncodingErrors.has(code)) return 'internal_error';
  if (phase === 'answering') return 'upstream_aborted';
  if (code === 'UPSTREAM_OVERLOADED') return 'upstream_overloaded';
  if (code === 'UPSTREAM_UPGRADE') return 'upgrade_failed';
  if (phase === 'connecting') {
    return code === 'UPSTREAM_CONNECT_TIMEOUT' || code === 'ETIMEDOUT'
      ? 'upstream_connect_timeout'
      : 'upstream_unreachable';
  }
  return isProtocolError(error, code) ? 'upstream_protocol_error' : 'upstream_reset';
}

/** What the operator reads: the error with its code, and the reasons under it (an AggregateError of all addresses that were tried, for one). */
export function describeError(error: Error): string {
  const code = readCode(error);
  let text = error.message === '' ? error.name : error.message;
  if (code !== '' && !text.includes(code)) text = `${code}: ${text}`;
  if (error instanceof AggregateError && error.errors.length > 0) {
    text += ` (${error.errors.map((inner: unknown) => (inner instanceof Error ? inner.message : String(inner))).join('; ')})`;
  }
  if (error.cause instanceof Error) text += `, because ${describeError(error.cause)}`;
  return text;
}

/** Why a connection failed, as the value of a metric label. */
export function describeConnectFailure(error: Error): 'refused' | 'timeout' | 'tls' | 'dns' | 'other' {
  const code = readCode(error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error);
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'UPSTREAM_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns';
  return /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO)/.test(code) ? 'tls' : 'other';
}
