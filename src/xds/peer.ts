// The peer of a call, and the verdict whether it is authorized.
import { Code, ConnectError, createContextKey, type HandlerContext } from '@connectrpc/connect';

/** The claims and credentials of a peer. */
export interface PeerRequest {
  readonly nodeId: string;
  /** namespace/name, as the peer claims. */
  readonly gateway: string;
  /** The bearer token of the `authorization` header; undefined: none. */
  readonly token: string | undefined;
  /** The address that the connection comes from. */
  readonly peerAddress: string;
}

/** The authorization verdict. `reason` goes to the peer and to the log; it contains no secret. */
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

/** What is known of a call besides its headers. */
export interface CallOrigin {
  readonly peerAddress: string;
  /** Lifts the limits for unauthenticated peers. */
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
