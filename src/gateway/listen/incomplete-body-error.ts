// The error that a BodySink gets when a request body will never be complete.

/** The client disconnected in the middle of its request body, or broke the body's framing. */
export class IncompleteBodyError extends Error {
  readonly code = 'incomplete_body';

  constructor(cause?: unknown) {
    super('the request body ended before it was complete', { cause });
    this.name = 'IncompleteBodyError';
  }
}
