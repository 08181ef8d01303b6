// Ends a start that cannot succeed, with one clear line.

/** Its message is for the person who started the process. */
export class StartError extends Error {
  readonly code: 'start_failed' | 'ports_taken' = 'start_failed';
}

/** Ports of the gateway itself cannot be opened, one line each; others may be taken as well. */
export class PortsTakenError extends StartError {
  override readonly code = 'ports_taken';
}
