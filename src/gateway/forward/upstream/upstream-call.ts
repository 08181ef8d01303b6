// The seam between the forwarder and a transport: one request on its way to one endpoint, and its answer.
// http1-connection.ts, http2-call.ts and inference/picked-call.ts are behind it.
import type { Duplex } from 'node:stream';
import type { SentFields } from '../../../http1/sent-fields.ts';
import type { RawHeaders } from '../../http/exchange.ts';

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly host: string;
  /** Without host, content-length, transfer-encoding and connection: the transport writes those itself. */
  readonly headers: RawHeaders;
  readonly hasBody: boolean;
  /** Undefined: not known, the body is chunked. */
  readonly contentLength: number | undefined;
  /** The body may end with trailers, so the transport must be able to send them. */
  readonly wantsTrailers: boolean;
  /** Name of the protocol to switch to. */
  readonly upgrade: string | undefined;
  /** What was sent for the client before. */
  readonly sentFields?: SentFields | undefined;
}

/**
 * What a transport tells. Order: onStart, onInformational*, then onHead, onData*, onEnd or onUpgrade. onError can come at any
 * time instead, and ends the call. Nothing comes after the end of a call, nor after `abort`, nor before `start`.
 */
export interface UpstreamEvents {
  /** A connection is there and the request is about to be written. An error BEFORE this means that not one byte of the request was sent. */
  onStart(): void;
  onInformational(status: number, headers: RawHeaders): void;
  onHead(status: number, headers: RawHeaders): void;
  /** False: no more until `resume`. */
  onData(chunk: Uint8Array): boolean;
  onEnd(trailers: RawHeaders): void;
  onUpgrade(status: number, headers: RawHeaders, stream: Duplex): void;
  /** `writeBody` returned false before; now there is room. */
  onBodyDrain(): void;
  /** The upstream takes no more of the body, although the answer may still go on. */
  onBodyRefused(): void;
  onError(error: Error): void;
}

export interface UpstreamCall {
  start(): void;
  /** After onStart. False: wait for onBodyDrain. */
  writeBody(chunk: Uint8Array): boolean;
  /** True: nothing that was written is held in this process any more. Not known everywhere. */
  readonly hasSentAll?: boolean | undefined;
  endBody(trailers: RawHeaders): void;
  /** More of the answer is wanted again. */
  resume(): void;
  /** Ends the call at once, wherever it is. A connection that was in use is closed. */
  abort(): void;
}
