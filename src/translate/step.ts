// Steps over everything: they run again only when one of their inputs is another object than last time.
import { keepList, keepMessages } from './memory.ts';

/** Wraps a pure function of objects that are kept while they do not change. */
export function createStep<I extends readonly unknown[], O>(run: (...inputs: I) => O): (...inputs: I) => O {
  let last: { readonly inputs: I; readonly output: O } | undefined;
  return (...inputs) => {
    if (last === undefined || inputs.some((input, at) => input !== last?.inputs[at]))
      last = { inputs, output: run(...inputs) };
    return last.output;
  };
}

/** The same for a function that makes messages, sorted by key. Unchanged messages, and an unchanged list, stay the same objects. */
export function createMessageStep<I extends readonly unknown[], M extends { readonly key: string }>(
  run: (...inputs: I) => readonly M[],
): (...inputs: I) => readonly M[] {
  let last: readonly M[] | undefined;
  return createStep((...inputs: I) => (last = keepMessages(last, run(...inputs))));
}

/** Takes one list after the other; a list with the same members as the last one is replaced by the last one. */
export function createListKeeper<V>(): (next: readonly V[]) => readonly V[] {
  let last: readonly V[] | undefined;
  return (next) => (last = keepList(last, next));
}
