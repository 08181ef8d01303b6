// Which resources to show: names, or namespace/name, where * stands for anything.
import { findNearestName } from '../../base/nearest-name.ts';

/** A filter; without patterns it takes everything. */
export interface NameFilter {
  matches(namespace: string, name: string): boolean;
  /** The patterns that fit none of these, each with the name that was probably meant. */
  listUnmatched(
    names: readonly { readonly namespace: string; readonly name: string }[],
  ): readonly { readonly pattern: string; readonly nearest: string | undefined }[];
}

/** Makes a filter. */
export function createNameFilter(patterns: readonly string[]): NameFilter {
  const tests = patterns.map((pattern) => ({ pattern, test: compilePattern(pattern) }));
  return {
    matches: (namespace, name) => tests.length === 0 || tests.some(({ test }) => test(namespace, name)),
    listUnmatched: (names) =>
      tests
        .filter(({ test }) => !names.some(({ namespace, name }) => test(namespace, name)))
        .map(({ pattern }) => ({
          pattern,
          nearest: findNearestName(
            pattern,
            names.map(({ namespace, name }) => (pattern.includes('/') ? `${namespace}/${name}` : name)),
          ),
        })),
  };
}

function compilePattern(pattern: string): (namespace: string, name: string) => boolean {
  // Stars next to each other say the same as one, and would make the expression slow.
  const source = pattern.split(/\*+/).map(escapePattern).join('.*');
  const expression = new RegExp(`^${source}$`, 's');
  return pattern.includes('/')
    ? (namespace, name) => expression.test(`${namespace}/${name}`)
    : (_, name) => expression.test(name);
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
