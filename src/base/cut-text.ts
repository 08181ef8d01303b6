// Texts from outside that are kept or shown: cut to a length, and without the long text that they are a piece of.

/** A text of at most this length; longer ones end with dots. */
export function cutText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${copyText(text.slice(0, maxLength))}...`;
}

/** The same text as a value of its own: V8 makes a piece of a text hold on to the whole of it. */
export function copyText(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}
