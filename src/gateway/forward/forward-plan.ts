// The result of the steps before forwarding. forward-request.ts carries it out and makes no routing decision itself.
import type { HeaderModifier } from '../../ir/gen/config_pb.ts';
import type { BackendConfig } from '../config/runtime-config.ts';
import type { McpAuthorizationConfig } from '../config/mcp-authorization-config.ts';
import type { ReadBody } from '../mcp/read/parse-message.ts';
import type { JudgeAgain } from '../request/judged-messages.ts';
import type { FilterAnswer } from '../http/answer-filter.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { SessionIdentity } from '../request/admission.ts';

/** Where a copy of a request goes. */
interface MirrorPlan {
  readonly backend: BackendConfig;
  readonly target: string;
  readonly host: string;
  /** The client's token is not for this backend. */
  readonly withoutToken: boolean;
}

export interface ForwardPlan {
  readonly backend: BackendConfig;
  readonly method: string;
  /** Path and query as they go upstream: rewrites and the MCP target's path are already applied. */
  readonly target: string;
  /** Path prefix by which clients reach the backend, e.g. /mcp: a legacy SSE target's `endpoint` event is rewritten with it. */
  readonly publicPath: string;
  /** Final request headers except host, framing and hop-by-hop ones, which are already gone. */
  readonly headers: RawHeaders;
  /** Lower-case names of fields that the client must not send in any spelling; gone from the headers, and not taken after the body either. */
  readonly removedFields?: ReadonlySet<string> | undefined;
  /** Host header to send. */
  readonly host: string;
  /** True: all fields are known to be sendable. The client's were checked on arrival, the others when they were added. Otherwise all must be checked. */
  readonly areHeadersSendable?: boolean;
  /** Applied in order to the upstream's response headers (hop-by-hop ones are removed first). */
  readonly responseHeaders: readonly HeaderModifier[];
  /** Added to the response after the modifiers: CORS, x-request-id. */
  readonly extraResponseHeaders: RawHeaders;
  /** From the head of the request to the end of the answer; 0: none. */
  readonly requestTimeoutMs: number;
  /** One attempt at the upstream, to the end of its answer; 0: none. */
  readonly backendRequestTimeoutMs: number;
  /** The body, already read; undefined: it streams from the client. */
  readonly body?: Uint8Array | undefined;
  /** The messages of that body; undefined: it goes to one server, whatever it says. */
  readonly read?: ReadBody | undefined;
  /** Called when that body is needed no more. */
  readonly releaseBody?: (() => void) | undefined;
  /** What the answer must pass. */
  readonly filterAnswer?: FilterAnswer | undefined;
  /** The rules over messages by which the request was let through. */
  readonly mcpAuthorization?: McpAuthorizationConfig | undefined;
  /** Judges the request again when rules change while its answer, a stream, is still open. Undefined: it is judged once. */
  readonly judgeAgain?: JudgeAgain | undefined;
  /** The owner of the session; undefined: sessions are not bound to a user. */
  readonly session: SessionIdentity | undefined;
  /** Copies of the request go here; their answers are thrown away. */
  readonly mirrors: readonly MirrorPlan[];
}
