// Parses JSON texts that have escapes in their keys, by the grammar of RFC 8259. JSON.parse of V8 does not read them reliably
// (https://github.com/nodejs/node/issues/63785): after an object with the keys `name` and `n\u0`, it takes `"n\u0061me"` for `n\u0` in
// `{"name":1,"n\u0061me":2}`. Anybody can send such an object first, and have the gateway judge another message than the server reads. Values
// are not concerned, so all that is no object or array is left to JSON.parse, one by one.
import { skipSpace, walkValue } from './json-text.ts';

/** Like JSON.parse, errors included. For texts that were scanned before: they are not too deep. */
export function parseEscapedKeys(text: string): unknown {
  const parser = new TextParser(text);
  return parser.parse();
}

class TextParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): unknown {
    this.#skipSpace();
    const value = this.#readValue();
    this.#skipSpace();
    if (this.#at !== this.#text.length) throw new SyntaxError('more than one value');
    return value;
  }

  #readValue(): unknown {
    switch (this.#text[this.#at]) {
      case '{':
        return this.#readObject();
      case '[':
        return this.#readArray();
      default:
        return this.#readScalar();
    }
  }

  #readObject(): unknown {
    const members: [key: string, value: unknown][] = [];
    this.#readParts('}', () => {
      const key = this.#readScalar();
      if (typeof key !== 'string') throw new SyntaxError('a key that is no string');
      this.#skipSpace();
      this.#take(':');
      this.#skipSpace();
      members.push([key, this.#readValue()]);
    });
    return Object.fromEntries(members);
  }

  #readArray(): unknown {
    const elements: unknown[] = [];
    this.#readParts(']', () => elements.push(this.#readValue()));
    return elements;
  }

  /** Reads what is between the brackets. */
  #readParts(end: string, readPart: () => void): void {
    this.#at += 1;
    this.#skipSpace();
    if (this.#text[this.#at] !== end) {
      readPart();
      this.#skipSpace();
      while (this.#text[this.#at] === ',') {
        this.#at += 1;
        this.#skipSpace();
        readPart();
        this.#skipSpace();
      }
    }
    this.#take(end);
  }

  /** Up to the next place where a value can end: more than that is no JSON. */
  #readScalar(): unknown {
    const start = this.#at;
    this.#at = walkValue(this.#text, start);
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #take(character: string): void {
    if (this.#text[this.#at] !== character) throw new SyntaxError(`no ${character}`);
    this.#at += 1;
  }

  #skipSpace(): void {
    this.#at = skipSpace(this.#text, this.#at);
  }
}
