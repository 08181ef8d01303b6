// `notifications/resources/updated`: a server tells that a resource has changed, by its URI. Who may not read the resource does not learn of it.
import { readString, walkValue, walkMembers } from '../../../base/json-text.ts';
import { foldKey } from '../read/known-keys.ts';

const updated = 'notifications/resources/updated';

/** The end of the method, in the spelling of any reader that ignores case (`ſ` is an s then). A slash can be written as `\/`; the other escapes that could stand for a letter begin with `\u`. */
const trace = /(?:s|\xc5\xbf)ource(?:s|\xc5\xbf)\\?\/updated|\\u/i;

/** Could there be such a notice in these bytes of JSON (as latin1)? Never no when there is one. */
export function mayHoldUpdate(bytes: string): boolean {
  return trace.test(bytes);
}

/** Is a message such a notice, and about what? It is shown the members of the message. */
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

  /** The resource; undefined when it names none, or another reader could see another one. */
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
