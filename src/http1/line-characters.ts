// Finds forbidden characters in the lines of a head (RFC 9110 section 5.5, RFC 9112 section 2.2): control characters other than tabs, and a CR or LF
// without the other. Checks sixteen bytes at a time, because heads with tokens are long and most bytes are letters.

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const del = 0x7f;
/** Up to this length, checking by words does not pay off. */
const shortBytes = 64;

/** True when every byte is allowed in a line, and every CR and LF from `start` to `end` is part of a CRLF. */
export function areLinesClean(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < shortBytes) return areBytesClean(bytes, start, end, start, end);
  const { byteOffset } = bytes;
  const words = viewWords(bytes.buffer);
  let word = (byteOffset + start + 3) >> 2;
  const lastWord = (byteOffset + end) >> 2;
  if (!areBytesClean(bytes, start, word * 4 - byteOffset, start, end)) return false;
  for (; word + 4 <= lastWord; word += 4) {
    const marks = mark(words[word]!) | mark(words[word + 1]!) | mark(words[word + 2]!) | mark(words[word + 3]!);
    if ((marks & highBits) === 0) continue;
    const from = word * 4 - byteOffset;
    if (!areBytesClean(bytes, from, from + 16, start, end)) return false;
  }
  return areBytesClean(bytes, word * 4 - byteOffset, end, start, end);
}

const highBits = 0x80808080;

/** Sets the high bit of every byte that is below 0x20 or is 0x7f. A neighbouring byte may cause a false positive, but there are no false negatives. */
function mark(word: number): number {
  return ((word - 0x20202020) | (word + 0x01010101)) & ~word;
}

let viewed: ArrayBufferLike | undefined;
let view: Int32Array = new Int32Array(0);

/** Caches the view: Node cuts many small buffers out of one memory block. */
function viewWords(memory: ArrayBufferLike): Int32Array {
  if (memory !== viewed) {
    viewed = memory;
    view = new Int32Array(memory, 0, memory.byteLength >> 2);
  }
  return view;
}

/** Checks the bytes one by one. */
function areBytesClean(bytes: Buffer, from: number, to: number, start: number, end: number): boolean {
  for (let at = from; at < to; at++) if (isSuspicious(bytes[at]!) && !isAllowed(bytes, at, start, end)) return false;
  return true;
}

function isSuspicious(byte: number): boolean {
  return byte < space || byte === del;
}

function isAllowed(bytes: Buffer, at: number, start: number, end: number): boolean {
  const byte = bytes[at];
  if (byte === carriageReturn) return at + 1 < end && bytes[at + 1] === lineFeed;
  if (byte === lineFeed) return at > start && bytes[at - 1] === carriageReturn;
  return byte === tab;
}
