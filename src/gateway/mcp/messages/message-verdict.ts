// What rules over MCP messages say about a request, and what its answer has to pass.
import type { RawHeaders } from '../../listen/exchange.ts';
import type { PolicyDenial } from '../../policies/policy-verdict.ts';

/** What the rules say about a request. */
export type MessageVerdict =
  | {
      readonly kind: 'forward';
      /** The body as it goes upstream, already read; undefined: it was not read and streams. */
      readonly body: Uint8Array | undefined;
      /** What the answer must pass; undefined: it streams as it is. */
      readonly filterAnswer: FilterAnswer | undefined;
    }
  /** The gateway answers in the server's place, e.g. with the error of an unknown tool. */
  | { readonly kind: 'respond'; readonly status: number; readonly headers: RawHeaders; readonly body: string }
  | PolicyDenial;

/** Looks at the head of the upstream's answer and says what its body has to pass; undefined: nothing. */
export type FilterAnswer = (status: number, headers: RawHeaders) => AnswerFilter | undefined;

/** Changes an answer on its way. A problem ends the answer as an error: what cannot be read cannot be filtered. */
export interface AnswerFilter {
  /** The headers as they go on, e.g. without content-length. */
  prepareHeaders(headers: RawHeaders): RawHeaders;
  push(chunk: Uint8Array): FilteredBytes;
  /** What is left when the answer ends. */
  flush(): FilteredBytes;
}

export type FilteredBytes =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly detail: string };
