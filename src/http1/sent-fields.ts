// Caches the field lines that were written last for a connection. Requests of one client, and their answers, mostly repeat the same fields: the lines of
// fields that repeat at the same place are reused, already checked and in one piece.
import { appendField } from './message-head.ts';
import { noHeaders, type RawHeaders } from './raw-headers.ts';

/** Longer texts are not kept. */
const maxKeptLength = 8_192;
/** After this many lists in a row that share less than half with the kept one, the last of them replaces it. */
const maxOthers = 16;

/** The last lines of one connection. */
export class SentFields {
  #fields: RawHeaders = noHeaders;
  #text = '';
  /** Where the line of each field ends. */
  #ends: readonly number[] = [];
  /** The first list is not kept: many connections have no second one. */
  #others = maxOthers - 2;

  /** The lines of all fields, each with the CRLF before it. Throws an UnsendableHeadError. */
  format(fields: RawHeaders): string {
    const known = this.#fields;
    const both = Math.min(fields.length, known.length);
    let text = '';
    /** The fields from here on equal the kept ones. */
    let same = 0;
    let others = fields.length - both;
    for (let index = 0; index < both; index += 2) {
      if (fields[index] === known[index] && fields[index + 1] === known[index + 1]) continue;
      text = appendField(text + this.#cut(same, index), fields[index]!, fields[index + 1]!);
      same = index + 2;
      others += 2;
    }
    text += this.#cut(same, both);
    for (let index = both; index < fields.length; index += 2)
      text = appendField(text, fields[index]!, fields[index + 1]!);
    this.#others = others * 2 > fields.length ? this.#others + 1 : 0;
    if (this.#others >= maxOthers) this.#keep(fields);
    return text;
  }

  /** The lines of known fields. */
  #cut(from: number, to: number): string {
    return from === to ? '' : this.#text.slice(from === 0 ? 0 : this.#ends[from / 2 - 1], this.#ends[to / 2 - 1]);
  }

  #keep(fields: RawHeaders): void {
    let text = '';
    const ends: number[] = [];
    for (let index = 0; index < fields.length; index += 2) {
      text = appendField(text, fields[index]!, fields[index + 1]!);
      ends.push(text.length);
    }
    this.#others = 0;
    if (text.length > maxKeptLength) return;
    // Copied into one piece. A character of more than one byte cannot be sent, and must not be kept in a shortened form.
    const copied = Buffer.from(text, 'latin1').toString('latin1');
    if (copied !== text) return;
    this.#fields = fields;
    this.#text = copied;
    this.#ends = ends;
  }
}
