// JSON that two readers cannot understand differently (I-JSON, RFC 7493): UTF-8, no key twice, no half surrogates, no `__proto__`, not too
// deep. The gateway judges what it reads, the server acts on what it reads: both must have read the same.
import type { TextSpan } from '../../../base/json-text.ts';
import { type JsonRules, readJson } from '../../../base/read-json.ts';

type StrictJson =
  | {
      readonly ok: true;
      readonly value: unknown;
      readonly text: string;
      /** Where the elements of the outermost array stand in the text, in order; empty when the document is none. */
      readonly elements: readonly TextSpan[];
    }
  /** `isSyntax`: it is no JSON at all. `problem` completes "the body ..."; it never quotes the body. */
  | { readonly ok: false; readonly isSyntax: boolean; readonly problem: string };

const rules: JsonRules = {
  maxDepth: 64,
  maxParts: 100_000,
  // More than any batch may have.
  maxElements: 1_000,
  refuseDoubledKeys: true,
  refuseHalfCharacters: true,
};

// With the byte order mark kept: JSON does not begin with one.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a document, or says why two readers could differ about it. */
export function readStrictJson(bytes: Uint8Array): StrictJson {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { ok: false, isSyntax: true, problem: 'is not UTF-8' };
  }
  const read = readJson(text, rules);
  return read.ok ? { ok: true, value: read.value, text, elements: read.elements } : read;
}
