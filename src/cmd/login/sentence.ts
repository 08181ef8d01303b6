// Sentences that end with the words of somebody else, who may have ended them already.

/** The text with one full stop at its end. */
export function endSentence(text: string): string {
  const bare = text.trimEnd();
  return /[.!?]$/.test(bare) ? bare : `${bare}.`;
}

/** An error code and its description, as far as they are there: "invalid_scope: No such scope." Empty: neither is. */
export function joinSaid(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join(': ');
}
