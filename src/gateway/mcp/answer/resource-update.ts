// `notifications/resources/updated`: a server announces that the resource with a URI has changed. Callers that may not read the resource do not get it.
import { readString, walkValue, walkMembers } from '../../../base/json-text.ts';
import { foldKey } from '../read/known-keys.ts';

const updated = 'notifications/resources/updated';

/** The end of the method, in any case (`ſ` folds to s). A slash can be escaped as `\/`; all escapes that could stand for a letter begin with `\u`. */
const trace = /(?:s|\xc5\xbf)ource(?:s|\xc5\xbf)\\?\/updated|\\u/i;

/** Whether these bytes of JSON (as latin1) may hold such a notification. No false negatives. */
export function mayHoldUpdate(bytes: string): boolean {
  return trace.test(bytes);
}

/** Finds out whether a message is such a notification, and for which resource. It visits the members of the message. */
export class UpdateReading {
  readonly #text: string;
  #isUpdate = false;
  #isClear = true;
  #uri: string | undefined;
  #seen = new Set<string>();

  constructor(text: string) {
    this.#text = text;
  }

  /** A client may take it for one. */
  get isUpdate(): boolean {
    return this.#isUpdate;
  }

  /** The resource; undefined when the message names none, or when parsers could disagree on it. */
  get uri(): string | undefined {
    return this.#isClear ? this.#uri : undefined;
  }

  /** A member of the message, and where its value begins. */
  visit(key: string, foldedKey: string, at: number): void {
    if (foldedKey !== 'method' && foldedKey !== 'params') return;
    if (key !== foldedKey || this.#seen.has(key)) this.#isClear = false;
    this.#seen.add(key);
    if (foldedKey === 'method') {
      const method = this.#readText(at);
      if (method !== undefined && foldKey(method) === updated) this.#isUpdate = true;
    } else if (this.#text[at] === '{') {
      this.#readParams(at);
    }
  }

  #readParams(start: number): void {
    walkMembers(this.#text, start, (key, at) => {
      if (foldKey(key) !== 'uri') return undefined;
      if (key !== 'uri' || this.#uri !== undefined) this.#isClear = false;
      const uri = this.#readText(at);
      if (uri === undefined) this.#isClear = false;
      this.#uri = uri;
      return undefined;
    });
  }

  #readText(at: number): string | undefined {
    return this.#text[at] === '"' ? readString(this.#text, at, walkValue(this.#text, at)) : undefined;
  }
}
