// What a BodySink gets when a request body will never be complete.

/** The client went away in the middle of its request body, or broke the framing of it. */
export class IncompleteBodyError extends Error {
  readonly code = 'incomplete_body';

  constructor(cause?: unknown) {
    super('the request body ended before it was complete', { cause });
    this.name = 'IncompleteBodyError';
  }
}
