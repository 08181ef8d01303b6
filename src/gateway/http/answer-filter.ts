// What an answer of an upstream must pass on its way to the client.
import type { RawHeaders } from './exchange.ts';

/** Looks at the head of the upstream's answer and says what becomes of it. */
export type FilterAnswer = (status: number, headers: RawHeaders) => AnswerTreatment;

/** What becomes of an answer. What cannot be read cannot be filtered: then the client gets an error, or a broken stream if it has begun. */
export type AnswerTreatment =
  /** It passes as it is. */
  | { readonly kind: 'pass' }
  | { readonly kind: 'refuse'; readonly detail: string }
  /** It passes the filter as it flows. */
  | { readonly kind: 'stream'; readonly filter: StreamFilter }
  /** Its head waits until the body is complete. A larger one is refused. */
  | { readonly kind: 'collect'; readonly maxBytes: number; readonly filter: (body: Uint8Array) => FilteredBody };

/** Changes a stream on its way. */
export interface StreamFilter {
  /** The headers as they go on, e.g. without content-length. */
  prepareHeaders(headers: RawHeaders): RawHeaders;
  /** What the client gets before anything of the upstream. */
  begin(): Uint8Array;
  /** In place of `begin`, in a stream that has begun without this filter. */
  joinAt(position: StreamPosition): void;
  push(chunk: Uint8Array): FilteredBytes;
  /** What is left when the answer ends. */
  flush(): FilteredBytes;
  /** What is held back, as it came: another filter goes on from there. */
  release(): Uint8Array;
  /** The client got something else than the upstream sent. */
  readonly isChanged: boolean;
}

export type FilteredBytes =
  /** `note`: for the operator, what was wrong with something that was left out. */
  | { readonly ok: true; readonly bytes: Uint8Array; readonly note: string | undefined }
  | { readonly ok: false; readonly detail: string };

/** A whole answer after the filter. */
export type FilteredBody =
  | {
      readonly ok: true;
      /** Undefined: it stays as it is. `isNew`: it is JSON of the gateway's own making, whatever the upstream sent. */
      readonly changed: { readonly body: Uint8Array; readonly isNew: boolean } | undefined;
      readonly note: string | undefined;
    }
  | { readonly ok: false; readonly detail: string };

/** Where an event stream is. */
export interface StreamPosition {
  /** Before the first byte, or right after a blank line. */
  readonly isBetweenEvents: boolean;
  /** Undefined before the first. */
  readonly lastByte: number | undefined;
}
