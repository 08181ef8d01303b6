// Fields of log lines as JSON: errors with all that is known of them, and never a field that keeps its line from being written.

/** `,"name":value` for each of them. What JSON has no value for is left out. */
export function formatLogFields(fields: object): string {
  let text = '';
  for (const [name, value] of Object.entries(fields)) {
    const json = formatValue(name === 'err' || name === 'error' ? describeError(value, []) : value);
    if (json !== undefined) text += `,${JSON.stringify(name)}:${json}`;
  }
  return text;
}

function formatValue(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return formatDifficult(value);
  }
}

/** Values with circles or large integers in them, or that do not let themselves be read. */
function formatDifficult(value: unknown): string | undefined {
  const around: unknown[] = [];
  try {
    return JSON.stringify(value, function replace(this: unknown, _, item: unknown) {
      if (typeof item === 'bigint') return Number(item);
      if (typeof item !== 'object' || item === null) return item;
      while (around.length > 0 && around.at(-1) !== this) around.pop();
      if (around.includes(item)) return '[Circular]';
      around.push(item);
      return item;
    });
  } catch {
    return '"[cannot be written]"';
  }
}

interface ErrorLike {
  readonly message: string;
  readonly name?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

function isErrorLike(value: unknown): value is ErrorLike {
  return typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string';
}

/** An error as data, with its causes and its own fields; anything else as it is. */
function describeError(value: unknown, around: readonly unknown[]): unknown {
  if (!isErrorLike(value)) return value;
  const inner = [...around, value];
  const { constructor } = value as { readonly constructor?: unknown };
  const described: Record<string, unknown> = {
    type: typeof constructor === 'function' ? constructor.name : value.name,
    message: value.message,
    stack: value.stack,
  };
  if (Array.isArray(value.errors))
    described['aggregateErrors'] = value.errors.map((each) => describeError(each, inner));
  if (isErrorLike(value.cause) && !inner.includes(value.cause)) described['cause'] = describeError(value.cause, inner);
  for (const [name, field] of Object.entries(value)) {
    if (described[name] !== undefined || inner.includes(field)) continue;
    described[name] = describeError(field, inner);
  }
  return described;
}
