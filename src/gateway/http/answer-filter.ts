// Filters that an upstream's answer passes through on its way to the client.
import type { RawHeaders } from './exchange.ts';

/** Decides by the head of the upstream's answer how the answer is treated. */
export type FilterAnswer = (status: number, headers: RawHeaders) => AnswerTreatment;

/** How an answer is treated. An answer that cannot be parsed cannot be filtered: the client gets an error, or an aborted stream if the answer has begun. */
export type AnswerTreatment =
  /** Passes unchanged. */
  | { readonly kind: 'pass' }
  | { readonly kind: 'refuse'; readonly detail: string }
  /** Streams through the filter. */
  | { readonly kind: 'stream'; readonly filter: StreamFilter }
  /** Is buffered: the head waits until the body is complete. A body over `maxBytes` is refused. */
  | { readonly kind: 'collect'; readonly maxBytes: number; readonly filter: (body: Uint8Array) => FilteredBody };

/** Changes a stream on its way. */
export interface StreamFilter {
  /** The headers for the client, e.g. without content-length. */
  prepareHeaders(headers: RawHeaders): RawHeaders;
  /** Bytes for the client before the first byte of the upstream. */
  begin(): Uint8Array;
  /** Replaces `begin` when the stream has begun without this filter. */
  joinAt(position: StreamPosition): void;
  push(chunk: Uint8Array): FilteredBytes;
  /** The remaining bytes when the answer ends. */
  flush(): FilteredBytes;
  /** Returns the held back bytes unchanged: another filter continues from there. */
  release(): Uint8Array;
  /** The client got something other than what the upstream sent. */
  readonly isChanged: boolean;
}

export type FilteredBytes =
  /** `note`: tells the operator why something was left out. */
  | { readonly ok: true; readonly bytes: Uint8Array; readonly note: string | undefined }
  | { readonly ok: false; readonly detail: string };

/** A whole answer after the filter. */
export type FilteredBody =
  | {
      readonly ok: true;
      /** Undefined: unchanged. `isNew`: the gateway wrote this body itself, as JSON, whatever type the upstream sent. */
      readonly changed: { readonly body: Uint8Array; readonly isNew: boolean } | undefined;
      readonly note: string | undefined;
    }
  | { readonly ok: false; readonly detail: string };

/** The position in an event stream. */
export interface StreamPosition {
  /** Before the first byte, or right after a blank line. */
  readonly isBetweenEvents: boolean;
  /** Undefined before the first byte. */
  readonly lastByte: number | undefined;
}
