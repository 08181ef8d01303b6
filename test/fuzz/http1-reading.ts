// What a reader of HTTP/1 makes of a byte stream, in a form in which two readers can be compared. Bytes are latin1: one character each.

/** Requests as a server reads them, or answers as a client reads them. */
export type StreamKind = 'request' | 'response';

/** One stream, and what a reader has to know beforehand. */
export interface WireStream {
  readonly kind: StreamKind;
  readonly bytes: string;
  /** Answers only: the methods of the requests that they answer, in order. After the last one: GET. */
  readonly methods: readonly string[];
}

/** One message, as far as it was read. */
export interface ReadMessage {
  /** `GET /path 1.1` or `1.1 200 OK`. */
  startLine: string;
  /** Name, value, name, value. */
  headers: readonly string[];
  body: string;
  trailers: readonly string[];
  /** Offset behind the last byte; undefined where the reader was not asked byte by byte. */
  end: number | undefined;
  /** The connection does not go on after this message; undefined where the reader does not say. */
  closes: boolean | undefined;
  /** What follows is another protocol. */
  switches: boolean;
}

/** A whole stream, as far as it was read. */
export interface Reading {
  /** Those that are complete. */
  readonly messages: readonly ReadMessage[];
  /** One whose head is complete, and nothing more. */
  readonly unfinished: ReadMessage | undefined;
  /** The stream ended between two messages, within one, or the reader refused to go on. */
  readonly outcome: 'complete' | 'truncated' | 'refused';
  /** Why it was refused. */
  readonly error: string | undefined;
}

/** The bytes as they stand in a JavaScript string. */
export function escapeBytes(bytes: string): string {
  const escaped = JSON.stringify(bytes).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  const hex = (character: string): string => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  return `'${escaped.replaceAll(/\\u00([0-9a-f]{2})/g, '\\x$1').replaceAll(/[\u007f-\u00ff]/g, hex)}'`;
}
