// Texts of all characters there are, for properties. fast-check's own unit `binary` is the same, and makes a map of a million entries first.
import { integer, string } from 'fast-check';

const surrogates = [0xd800, 0xdfff] as const;

/** Any character, astral ones included. */
const character = integer({ min: 0, max: 0x10_ffff - (surrogates[1] - surrogates[0] + 1) }).map((code) =>
  String.fromCodePoint(code < surrogates[0] ? code : code + (surrogates[1] - surrogates[0] + 1)),
);

/** Any text. */
export function anyText(options: { readonly maxLength?: number } = {}): ReturnType<typeof string> {
  return string({ unit: character, ...options });
}
