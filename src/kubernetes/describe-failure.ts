// Why there was no answer, in one short line without stack or credentials.

const maxLength = 200;

/** `connect ECONNREFUSED 10.0.0.1:443`, `certificate has expired` */
export function describeFailure(error: unknown): string {
  const text = findText(error).replaceAll(/Bearer\s+\S+/gi, 'Bearer [hidden]');
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > maxLength ? `${line.slice(0, maxLength)}...` : line;
}

function findText(error: unknown): string {
  // A name with several addresses fails with one error per address; the first says enough.
  if (error instanceof AggregateError && error.errors.length > 0) return findText(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  return error.cause === undefined ? error.name : findText(error.cause);
}
