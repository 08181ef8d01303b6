// Elements of the page, made by scripts. Texts are set as texts, never as HTML.

/** An element with a class and its content. */
export function createElement(name, className, ...content) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...content);
  return element;
}

/** Replaces the text only where it differs, so that screen readers do not read it again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** What went wrong, for people. */
export function describeError(error) {
  // What fetch throws when nobody answers; every browser has its own words for it.
  if (error instanceof TypeError) return `The gateway did not answer (${error.message}). Is the demo still running?`;
  return error.message;
}
