// Detects loops: a backend may lead back to this gateway, by mistake, through another proxy, under any name, and the request would circle until something breaks. So
// every request upstream carries the number of its rounds in a mark that only the processes of this Gateway can make. Marks made by clients are ignored.
import { roundField } from '../http/field-name.ts';
import { createHmac } from 'node:crypto';
import type { RawHeaders } from '../http/exchange.ts';

/** A request may come back this often, because a route may lead to another route of the same Gateway. */
export const maxRounds = 4;
/** Marks of other gateways that are forwarded: the last ones, because a loop returns soon. */
const maxForeignMarks = 8;

/** Recognises requests that passed this Gateway before. */
export class LoopGuard {
  readonly #fallback: Uint8Array;
  #keys: readonly Uint8Array[] = [];
  /** By the number of rounds. */
  #marks: readonly string[];
  #rounds: ReadonlyMap<string, number>;

  /** `fallback`: the key while there is none that all processes of the Gateway have. */
  constructor(fallback: Uint8Array = crypto.getRandomValues(new Uint8Array(32))) {
    this.#fallback = fallback;
    ({ marks: this.#marks, rounds: this.#rounds } = makeMarks([fallback]));
  }

  /** Takes the keys that all processes of the Gateway have, the one in use first. */
  useKeys(keys: readonly Uint8Array[]): void {
    if (keys.length === this.#keys.length && keys.every((key, index) => equals(key, this.#keys[index]!))) return;
    this.#keys = keys;
    ({ marks: this.#marks, rounds: this.#rounds } = makeMarks(keys.length === 0 ? [this.#fallback] : keys));
  }

  /** The value of the field for the request on its way upstream; undefined: it has been here too often. */
  markNext(headers: RawHeaders): string | undefined {
    let round = 0;
    let foreign: string[] | undefined;
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]!;
      if (name.length !== roundField.length || name.toLowerCase() !== roundField) continue;
      for (const each of headers[i + 1]!.split(',')) {
        const mark = each.trim();
        const known = this.#rounds.get(mark);
        if (known !== undefined) round = Math.max(round, known);
        else if (/^[\w-]{1,64}$/.test(mark)) (foreign ??= []).push(mark);
      }
    }
    // One that has not been here yet carries mark 1 to its next visit.
    const own = this.#marks[round];
    if (own === undefined) return undefined;
    return foreign === undefined ? own : [...foreign.slice(-maxForeignMarks), own].join(', ');
  }
}

function makeMarks(keys: readonly Uint8Array[]): {
  readonly marks: readonly string[];
  readonly rounds: ReadonlyMap<string, number>;
} {
  const lists = keys.map((key) => Array.from({ length: maxRounds + 1 }, (_, index) => makeMark(key, index + 1)));
  // Those of keys that were in use before are still known.
  const rounds = new Map(lists.flatMap((list) => list.map((mark, index): [string, number] => [mark, index + 1])));
  return { marks: lists[0]!, rounds };
}

function makeMark(key: Uint8Array, round: number): string {
  return createHmac('sha256', key).update(`round ${round}`).digest('base64url').slice(0, 22);
}

function equals(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
