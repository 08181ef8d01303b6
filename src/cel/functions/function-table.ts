// Every function that rules can call, operators included; what is special about && || ?: == != in and [] is in check-operator.ts.
import { boolType } from '../cel-type.ts';
import { arithmetic } from './arithmetic.ts';
import { collections } from './collections.ts';
import { conversions } from './conversions.ts';
import { networks } from './networks.ts';
import { ordering } from './ordering.ts';
import { overload, type Overload } from './overload.ts';
import { regularExpressions } from './regular-expressions.ts';
import { texts } from './texts.ts';
import { timeParts } from './time-parts.ts';

const table: ReadonlyMap<string, readonly Overload[]> = new Map(
  [
    { '!_': [overload([boolType], boolType, (value) => !value)] },
    arithmetic,
    ordering,
    conversions,
    collections,
    texts,
    regularExpressions,
    timeParts,
    networks,
  ].flatMap((functions) => Object.entries(functions)),
);

/** The forms of a function; undefined when there is none of this name. */
export function findOverloads(name: string): readonly Overload[] | undefined {
  return table.get(name);
}

/** The names that people can write, without the operators. */
export function listFunctionNames(): readonly string[] {
  return [...table.keys()].filter((name) => /^\w+$/.test(name));
}
