// The seam between a protocol implementation and the request path: one request and its answer.
// The codec in src/http1 and node:http2 are behind it; nothing above knows which one it got.
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../../http1/raw-headers.ts';
import type { SentFields } from '../../http1/sent-fields.ts';

export type { RawHeaders } from '../../http1/raw-headers.ts';

/** Where a body goes. The producer stops after `write` returned false and goes on when the sink calls `resume` on its BodyFlow. */
export interface BodySink {
  write(chunk: Uint8Array): boolean;
  end(trailers: RawHeaders): void;
  /** The body will never be complete: the sender went away or broke the protocol. */
  fail(error: Error): void;
}

/** The reader's handle on a body in flight. */
export interface BodyFlow {
  resume(): void;
  /** No more chunks are wanted. What still arrives is thrown away. */
  discard(): void;
}

/** A connection that no longer speaks HTTP. */
export interface UpgradedSocket {
  /** Bytes that arrived together with the request head. */
  readonly head: Uint8Array;
  readonly stream: Duplex;
}

/** One request and its answer. After the client left, every call is allowed and does nothing. */
export interface Exchange {
  readonly method: string;
  /**
   * The request-target as received, in origin form (an absolute form is split into authority and this), '*' for a server-wide
   * OPTIONS, empty for a CONNECT, which names an authority only.
   */
  readonly target: string;
  /** Authority of an absolute-form target, Host header or :authority as received; empty when there is none. */
  readonly authority: string;
  /** The scheme of the connection itself, whatever the target or :scheme says. */
  readonly scheme: 'http' | 'https';
  readonly httpVersion: '1.0' | '1.1' | '2';
  /** Without pseudo-headers. */
  readonly headers: RawHeaders;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
  /** Server name of the TLS handshake, when there was one. */
  readonly serverName: string | undefined;
  /** Whether the handshake validated the client's certificate against these authorities (of a ListenerConfig). */
  isClientValidatedBy(authorities: string): boolean;
  /** The fields sent upstream for earlier requests of the same connection; most of them repeat. */
  readonly sentFields?: SentFields | undefined;
  /** False: the request ends with its head. */
  readonly hasBody: boolean;
  /** The client asked to switch protocols (HTTP/1.1 Upgrade, or an extended CONNECT): its name, e.g. websocket. */
  readonly upgradeProtocol: string | undefined;

  /**
   * Starts the flow of the request body. At most once; an unread body is drained by the adapter, or the connection is closed.
   * The sink is called later, never from inside this call, and never after the onClose callback.
   */
  readBody(sink: BodySink): BodyFlow;

  /** 1xx other than 101; ignored if the client's protocol does not support it. */
  sendInformational(status: number, headers: RawHeaders): void;
  /** Once. The adapter adds the framing headers (connection, transfer-encoding, keep-alive); they must not be in the list. */
  sendHead(status: number, headers: RawHeaders): void;
  /** After sendHead. False: wait for the callback given to onDrain. `write` and `end` do nothing when the client is gone. */
  write(chunk: Uint8Array): boolean;
  /** True: the kernel has taken every written byte. Undefined where the adapter cannot tell. */
  readonly hasSentAll?: boolean;
  onDrain(callback: () => void): void;
  end(trailers?: RawHeaders): void;
  /** Head and whole body in one call, for answers that the gateway makes itself. */
  respond(status: number, headers: RawHeaders, body: Uint8Array | string): void;
  /** Ends the answer as an error that the client can see: a reset, or a closed connection without the final chunk. */
  abort(): void;
  /**
   * Answers 101 (HTTP/2: 200) with these headers and hands over the raw connection. Only when upgradeProtocol is set.
   * The adapter writes Connection, and Upgrade when it is missing. onClose then follows the handed over stream.
   */
  acceptUpgrade(status: number, headers: RawHeaders): UpgradedSocket;

  /** True once sendHead or respond was called. */
  readonly headSent: boolean;
  /**
   * Called exactly once, after the answer was flushed (clean) or when the client went away first (not clean).
   * The counts are bytes of body (after an upgrade: of the handed over stream), without heads and framing.
   */
  onClose(callback: (clean: boolean, bytesSent: number, bytesReceived: number) => void): void;
}
