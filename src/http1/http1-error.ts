// Why a byte stream is not read any further. The error is final: the bytes that follow cannot be attributed to a message.

/** The kind of error; it decides the answer. */
type Http1ErrorCode =
  | 'bad_request'
  | 'bad_target'
  | 'missing_host'
  | 'headers_too_large'
  | 'too_many_headers'
  /** The stream ended in the middle of a message. */
  | 'incomplete';

/** A stream that breaks RFC 9112, or a limit. */
export class Http1Error extends Error {
  readonly code: Http1ErrorCode;

  constructor(code: Http1ErrorCode, message: string) {
    super(message);
    this.name = 'Http1Error';
    this.code = code;
  }
}
