// Calls of functions and plain operators: which of their forms fit the types, and how that one is chosen when a type is known only later.
import { findNearestName, listAlternatives } from '../base/nearest-name.ts';
import { areCompatible, type CelType, dynType, describeType, isSettled, joinTypes, listOf } from './cel-type.ts';
import { ExpressionError } from './expression-error.ts';
import type { Frame, Run } from './frame.ts';
import { findOverloads, listFunctionNames } from './functions/function-table.ts';
import type { Implementation, Overload } from './functions/overload.ts';
import { computed, type TypedStep } from './typed-step.ts';
import { describeKind, Failure, kindOf, type Result, type Value } from './values.ts';
import type { CallNode } from './syntax-tree.ts';

const macros: Readonly<Record<string, string>> = {
  has: 'has() asks for a field: has(jwt.team); for other names write "x-team" in request.headers',
  all: 'write all() with a name for the elements: jwt.groups.all(g, g != "x")',
  exists: 'write exists() with a name for the elements: jwt.groups.exists(g, g == "x")',
  exists_one: 'write exists_one() with a name for the elements: jwt.groups.exists_one(g, g == "x")',
  filter: 'write filter() with a name for the elements: jwt.groups.filter(g, g != "x")',
  map: 'write map() with a name for the elements: jwt.groups.map(g, g + "!")',
};

/** Checks a call whose arguments were checked. */
export function checkCall(node: CallNode, overloads: readonly Overload[], args: readonly TypedStep[]): TypedStep {
  const candidates = findCandidates(node, overloads, args);
  const prepared = candidates.map((candidate) => prepare(candidate, node, args));
  const [first] = candidates;
  const isKnown = candidates.length === 1 && first!.params.every((param, index) => isSettled(param, args[index]!.type));
  const work = isKnown ? prepared[0]! : chooseLater(node, candidates, prepared);
  return computed(typeOfResult(node, candidates, args), connect(work, args));
}

/** The forms of the function that a call names. Asked before its arguments are looked at: they may be those of a macro. */
export function findFunction({ name, offset }: CallNode): readonly Overload[] {
  const overloads = findOverloads(name);
  if (overloads !== undefined) return overloads;
  if (Object.hasOwn(macros, name)) throw new ExpressionError(macros[name]!, offset);
  const nearest = findNearestName(name, [...listFunctionNames(), ...Object.keys(macros)]);
  throw new ExpressionError(
    `there is no function ${name}()${nearest === undefined ? '' : `; did you mean ${nearest}()?`}`,
    offset,
  );
}

function findCandidates(
  node: CallNode,
  overloads: readonly Overload[],
  args: readonly TypedStep[],
): readonly Overload[] {
  const { name, isMethod, offset } = node;
  const ofForm = overloads.filter((overload) => overload.isMethod === isMethod);
  if (ofForm.length === 0)
    throw new ExpressionError(
      isMethod
        ? `${name}() is not a method; write ${name}(${'a, b, c'.slice(0, args.length * 3 - 2)})`
        : `${name}() is a method; write a.${name}(${'b, c'.slice(0, Math.max(0, args.length * 3 - 5))})`,
      offset,
    );
  const ofCount = ofForm.filter(({ params }) => params.length === args.length);
  if (ofCount.length === 0) {
    const own = isMethod ? 1 : 0;
    const counts = [...new Set(ofForm.map(({ params }) => String(params.length - own)))];
    throw new ExpressionError(
      `${name}() takes ${listAlternatives(counts)} argument${counts.join('') === '1' ? '' : 's'}, found ${args.length - own}`,
      offset,
    );
  }
  const fitting = ofCount.filter(
    ({ params, result }) =>
      params.every((param, index) => areCompatible(param, args[index]!.type)) &&
      // [1] + ["a"]: the elements of a list have one type, unless it was written otherwise.
      (result.kind !== 'list' || name !== '_+_' || areCompatible(args[0]!.type, args[1]!.type)),
  );
  if (fitting.length === 0) throw new ExpressionError(describeMisfit(node, ofCount, args), offset);
  return fitting;
}

function describeMisfit(node: CallNode, overloads: readonly Overload[], args: readonly TypedStep[]): string {
  const found = args.map(({ type }) => describeType(type)).join(' and ');
  const [only] = overloads;
  const takes = overloads.length === 1 ? `; it takes ${only!.params.map(describeType).join(' and ')}` : '';
  return `${displayName(node)} is not defined for ${found}${takes}${adviseTime(node, args)}`;
}

/** Times are mostly compared with texts, or with the numbers of a token. */
function adviseTime({ name }: CallNode, args: readonly TypedStep[]): string {
  const kinds = new Set(args.map(({ type }) => type.kind));
  if (!kinds.has('string') && !kinds.has('int')) return '';
  const isTime = kinds.has('timestamp');
  if (isTime && name !== '_+_' && name !== '_-_') return '; times are written timestamp("2030-01-31T09:00:00Z")';
  return isTime || kinds.has('duration') ? '; durations are written duration("1h30m")' : '';
}

/** "+" for _+_, "startsWith()". */
function displayName({ name }: CallNode): string {
  return /^\w+$/.test(name) ? `${name}()` : name.replaceAll('_', '');
}

function typeOfResult({ name }: CallNode, candidates: readonly Overload[], args: readonly TypedStep[]): CelType {
  const result = candidates.map((candidate) => candidate.result).reduce(joinTypes);
  // The one operator whose lists stay what they are.
  if (name === '_+_' && result.kind === 'list') {
    const [left, right] = args.map(({ type }) => (type.kind === 'list' ? type.element : dynType));
    return listOf(joinTypes(left!, right!));
  }
  return result;
}

type AnyWork = (...args: (Value | Frame)[]) => Result;

/** Prepares a form with its literal arguments. */
function prepare({ prepare: look, params, run }: Overload, node: CallNode, args: readonly TypedStep[]): AnyWork {
  const literals = args.map(({ literal }) => literal);
  // A form that another literal rules out (int("x") among the forms of int) reports no problems.
  const concerns = params.every((param, index) => isSettled(param, args[index]!.type) || literals[index] === undefined);
  const preparation = concerns ? look?.(literals) : undefined;
  if (preparation !== undefined && 'problem' in preparation)
    throw new ExpressionError(preparation.problem, node.args[preparation.argument]!.start);
  const work: Implementation = preparation === undefined ? run : preparation.run;
  return work as unknown as AnyWork;
}

function chooseLater(node: CallNode, candidates: readonly Overload[], works: readonly AnyWork[]): AnyWork {
  const kinds = candidates.map(({ params }) => params.map(({ kind }) => kind));
  return (...all) => {
    for (let at = 0; at < kinds.length; at += 1) {
      if (fits(kinds[at]!, all)) return works[at]!(...all);
    }
    const found = all.slice(0, kinds[0]!.length).map((value) => describeKind(kindOf(value as Value)));
    return new Failure(`${displayName(node)} is not defined for ${found.join(' and ')}`);
  };
}

function fits(kinds: readonly string[], values: readonly (Value | Frame)[]): boolean {
  for (let index = 0; index < kinds.length; index += 1) {
    const kind = kinds[index]!;
    if (kind !== 'dyn' && kind !== kindOf(values[index] as Value)) return false;
  }
  return true;
}

/** Evaluates the arguments, and does the work unless one of them failed. Spelled out for the usual counts, because they are the hot path. */
function connect(work: AnyWork, args: readonly TypedStep[]): Run {
  const runs = args.map(({ run }) => run);
  const [a, b] = runs;
  if (runs.length === 1) {
    return (frame) => {
      const first = a!(frame);
      return first instanceof Failure ? first : work(first, frame);
    };
  }
  if (runs.length === 2) {
    return (frame) => {
      const first = a!(frame);
      if (first instanceof Failure) return first;
      const second = b!(frame);
      return second instanceof Failure ? second : work(first, second, frame);
    };
  }
  return (frame) => {
    const values: Value[] = [];
    for (const run of runs) {
      const value = run(frame);
      if (value instanceof Failure) return value;
      values.push(value);
    }
    return work(...values, frame);
  };
}
