// Who is at the other end of a call, and whether it may have what it asks for.
import { Code, ConnectError, createContextKey, type HandlerContext } from '@connectrpc/connect';

/** Who asks, before anything is sent. */
export interface PeerRequest {
  readonly nodeId: string;
  /** namespace/name, as the peer claims. */
  readonly gateway: string;
  /** The bearer token of the `authorization` header; undefined: none. */
  readonly token: string | undefined;
  /** The address that the connection comes from. */
  readonly peerAddress: string;
}

/** Whether a peer may have what it asks for. `reason` goes to the peer and to the log; it names no secret. */
export type PeerVerdict =
  | {
      readonly allowed: true;
      /** When its token expires, in milliseconds since 1970; undefined: not known, or never. */
      readonly expiresAt?: number | undefined;
    }
  | {
      readonly allowed: false;
      readonly code: 'unauthenticated' | 'permission_denied' | 'unavailable';
      readonly reason: string;
    };

/** What the connection tells about a call, beside its headers. */
export interface CallOrigin {
  readonly peerAddress: string;
  /** Lifts the limits on what a stranger may send, and on how long it may stay. */
  trust(): void;
}

/** The context value that the handler of the port sets. */
export const callOrigin = createContextKey<CallOrigin>(
  { peerAddress: '', trust: () => {} },
  { description: 'where a call comes from' },
);

/** Reads the bearer token (RFC 6750, 2.1); undefined: there is none. */
export function readToken(context: HandlerContext): string | undefined {
  return /^Bearer +([\w\-.~+/]+=*) *$/i.exec(context.requestHeader.get('authorization') ?? '')?.[1];
}

const codes = {
  unauthenticated: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  unavailable: Code.Unavailable,
} as const;

/** The status that a refused call ends with. */
export function createRefusal(verdict: PeerVerdict & { readonly allowed: false }): ConnectError {
  return new ConnectError(verdict.reason, codes[verdict.code]);
}
