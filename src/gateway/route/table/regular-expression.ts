// Regular expressions of route matches: RE2 syntax, always against the whole text, in time linear to it.
import { RE2JS } from '@bufbuild/re2';

/** Longest text that is tried. RE2 is linear, but linear in 64 KiB times many expressions is still too much for one request. */
export const maxSubjectLength = 8192;

/** A compiled expression. */
export interface RegularExpression {
  readonly source: string;
  /** True when the whole text matches. The caller keeps the text within `maxSubjectLength`. */
  matches(text: string): boolean;
}

/** The expression does not compile. */
export class RegularExpressionError extends Error {
  readonly code = 'invalid_regular_expression';

  constructor(source: string, cause: unknown) {
    super(
      `the regular expression ${JSON.stringify(source)} is not valid RE2: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
    this.name = 'RegularExpressionError';
  }
}

/** Compiles an expression, or throws a RegularExpressionError. */
export function compileRegularExpression(source: string): RegularExpression {
  let expression: RE2JS;
  try {
    expression = RE2JS.compile(source);
  } catch (error) {
    throw new RegularExpressionError(source, error);
  }
  return { source, matches: (text) => expression.testExact(text) };
}
