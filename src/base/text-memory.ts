// A cache of values derived from texts that repeat: hosts, paths, names of clients. Bounded in number and length, because clients send them.
import { copyText } from './cut-text.ts';

const defaultMaxTexts = 1_000;

/** Longer texts are rare, and cost too much to hold. */
const maxTextLength = 256;

/** Where cache hits are rare, only one text in this many is looked up: a lookup that misses costs more than deriving the value. */
const crowdedShare = 16;
/** The number of texts after which the hit rate is judged. */
const judgedTexts = 256;

/** Derives a value from a text alone. `isKept`: the value will be cached. */
type Maker<T> = (text: string, isKept: boolean) => T;

export interface TextMemoryOptions {
  /** Texts that are remembered; all are forgotten when there are more. */
  readonly maxTexts?: number;
  /** False keeps a text out of the memory, a credential for one. Default: all are kept. */
  readonly mayKeep?: (text: string) => boolean;
}

/** The same function with a memory. */
export function rememberTexts<T extends string | object>(
  make: Maker<T>,
  { maxTexts = defaultMaxTexts, mayKeep }: TextMemoryOptions = {},
): (text: string) => T {
  const known = new Map<string, T>();
  let isCrowded = false;
  let passed = 0;
  let asked = 0;
  let hits = 0;

  function learn(text: string): T {
    // A slice would keep its whole request alive. A lone surrogate does not survive the copy: the key would stand for another text.
    const key = copyText(text);
    if (key !== text || mayKeep?.(key) === false) return make(text, false);
    const made = make(key, true);
    if (known.size >= maxTexts) known.clear();
    known.set(key, made);
    return made;
  }

  return (text) => {
    if (text.length > maxTextLength) return make(text, false);
    if (isCrowded) {
      passed = (passed + 1) % crowdedShare;
      if (passed !== 0) return make(text, false);
    }
    asked += 1;
    if (asked > judgedTexts) {
      isCrowded = hits < judgedTexts / 2;
      asked = 0;
      hits = 0;
    }
    const before = known.get(text);
    if (before === undefined) return learn(text);
    hits += 1;
    return before;
  };
}
