// Ends a start that cannot succeed, with one clear line.

/** Its message is for the person who started the process. */
export class StartError extends Error {
  readonly code = 'start_failed';
}
