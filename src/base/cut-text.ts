// Texts from outside that are kept or shown: cut to a length, without keeping the long original in memory.

/** A text of at most this length; longer ones end with dots. */
export function cutText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${copyText(text.slice(0, maxLength))}...`;
}

/** A text of at most this length for people: what is missing is missing in the middle, because both ends of a path or a name tell something. */
export function cutMiddle(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = Math.max(0, maxLength - 1);
  const end = Math.floor(kept / 2);
  return `${text.slice(0, kept - end)}…${text.slice(text.length - end)}`;
}

/** A copy of the text: in V8 a slice of a string keeps the whole string alive. */
export function copyText(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}
