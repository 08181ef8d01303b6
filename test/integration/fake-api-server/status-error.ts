// Refusals of the fake API server: metav1.Status, in the words of the real one.

/** An answer other than the one that was asked for. */
export class StatusError extends Error {
  readonly statusCode: number;
  readonly reason: string;
  readonly retryAfterSeconds: number | undefined;
  readonly causeReason: string | undefined;

  constructor(statusCode: number, reason: string, message: string, retryAfterSeconds?: number, causeReason?: string) {
    super(message);
    this.statusCode = statusCode;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
    this.causeReason = causeReason;
  }
}

/** metav1.Status of an error. */
export function writeStatus(error: StatusError): object {
  const { statusCode, reason, message, retryAfterSeconds, causeReason } = error;
  const details = {
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(causeReason !== undefined && { causes: [{ reason: causeReason }] }),
  };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    details,
    code: statusCode,
  };
}

/** 404 */
export function notFound(resource: string, name: string): StatusError {
  return new StatusError(404, 'NotFound', `${resource} "${name}" not found`);
}

/** 409: somebody else wrote in between, or a precondition does not hold. */
export function conflict(resource: string, name: string, why: string): StatusError {
  return new StatusError(409, 'Conflict', `Operation cannot be fulfilled on ${resource} "${name}": ${why}`);
}

/** 410: the resourceVersion or continue token is from before what the server remembers. */
export function expired(message = 'too old resource version'): StatusError {
  return new StatusError(410, 'Expired', message);
}
