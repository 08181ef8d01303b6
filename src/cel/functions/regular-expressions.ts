// matches(): RE2, which is linear in the text. The pattern is a literal of the rule and compiled once; a pattern from a claim would be compiled for every
// request, and the author of the token would choose it.
import { RE2JS } from '@bufbuild/re2';
import { boolType, stringType } from '../cel-type.ts';
import type { Frame } from '../frame.ts';
import { Failure, type Result } from '../values.ts';
import { method, overload, type Preparation, type Prepare, type FunctionTable } from './overload.ts';

/** Instructions of a compiled pattern. In the worst case each is tried for each character. */
const maxProgramSize = 1000;

/** Trying one costs more than copying a character. */
const costOfStep = 4;

const unprepared = new Failure('the pattern is not a string literal');

const prepare: Prepare = ([, pattern]) =>
  typeof pattern === 'string'
    ? compilePattern(pattern)
    : { problem: 'the pattern must be a string literal, so that it is compiled once', argument: 1 };

export const regularExpressions: FunctionTable = {
  matches: [
    method([stringType, stringType], boolType, () => unprepared, prepare),
    overload([stringType, stringType], boolType, () => unprepared, prepare),
  ],
};

function compilePattern(pattern: string): Preparation {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).replace(/^error parsing regexp: /, '');
    return { problem: `the pattern is not a regular expression of RE2: ${reason}`, argument: 1 };
  }
  const size = compiled.re2Input.prog.numInst();
  if (size > maxProgramSize)
    return { problem: `the pattern is too large: ${size} steps, at most ${maxProgramSize}`, argument: 1 };
  return {
    run: (text: string, _: string, frame: Frame): Result => {
      frame.spendTextWork(text.length * size * costOfStep);
      return compiled.test(text);
    },
  };
}
