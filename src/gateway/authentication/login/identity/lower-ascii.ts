// Names that are compared without regard to case.

/** A to Z in lower case, and nothing else: Unicode has other characters that become ASCII letters (the Kelvin sign becomes k), and two names would be one. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
