// Why a backend cannot be compiled.

/** The backend cannot be used as it is configured. */
export class BackendError extends Error {
  readonly code = 'invalid_backend';
}
