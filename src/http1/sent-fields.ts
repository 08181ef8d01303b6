// Field lines that were written before for the same connection. What a client asks for again has mostly the same fields, and so have the answers: the
// lines of fields that are there again, in the same place, are there already, checked and in one piece.
import { appendField } from './message-head.ts';
import { noHeaders, type RawHeaders } from './raw-headers.ts';

/** Longer texts are not kept. */
const maxKeptLength = 8_192;
/** So many lists in a row that have less than half in common with the one that is kept, and the last of them is kept instead. */
const maxOthers = 16;

/** The lines that one connection had last. */
export class SentFields {
  #fields: RawHeaders = noHeaders;
  #text = '';
  /** Where the line of each field ends. */
  #ends: readonly number[] = [];
  /** The first list is not kept: many connections have no second one. */
  #others = maxOthers - 2;

  /** The lines of all of them, each with the CRLF before it. Throws an UnsendableHeadError. */
  format(fields: RawHeaders): string {
    const known = this.#fields;
    const both = Math.min(fields.length, known.length);
    let text = '';
    /** From here on they are the known ones. */
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
    // In one piece. Of characters of more than one byte, which cannot be sent, nothing must be left over.
    const copied = Buffer.from(text, 'latin1').toString('latin1');
    if (copied !== text) return;
    this.#fields = fields;
    this.#text = copied;
    this.#ends = ends;
  }
}
