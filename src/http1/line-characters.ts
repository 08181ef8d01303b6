// What must not stand in the lines of a head (RFC 9110 section 5.5, RFC 9112 section 2.2): control characters other than tabs, and a CR or LF
// without the other. Four bytes are looked at a time: most of them are letters, and heads with tokens in them are long.

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const del = 0x7f;
/** Words are not worth it. */
const shortBytes = 64;

/** True when every byte may be part of a line, and every CR and LF from `start` to `end` is one of a pair. */
export function areLinesClean(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  if (end - start < shortBytes) {
    for (; at < end; at++) if (isSuspicious(bytes[at]!) && !isAllowed(bytes, at, start, end)) return false;
    return true;
  }
  const aligned = Math.min(end, start + ((4 - ((bytes.byteOffset + start) & 3)) & 3));
  for (; at < aligned; at++) if (isSuspicious(bytes[at]!) && !isAllowed(bytes, at, start, end)) return false;
  const count = (end - at) >> 2;
  if (count > 0) {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset + at, count);
    for (let index = 0; index < count; index++) {
      const word = words[index]!;
      // Any byte below 0x20, or any that is 0x7f. A neighbour may raise a false alarm, but none stays silent.
      const low = (word - 0x20202020) & ~word & 0x80808080;
      const flipped = word ^ 0x7f7f7f7f;
      const dels = (flipped - 0x01010101) & ~flipped & 0x80808080;
      if ((low | dels) === 0) continue;
      const from = at + index * 4;
      for (let each = from; each < from + 4; each++)
        if (isSuspicious(bytes[each]!) && !isAllowed(bytes, each, start, end)) return false;
    }
    at += count * 4;
  }
  for (; at < end; at++) if (isSuspicious(bytes[at]!) && !isAllowed(bytes, at, start, end)) return false;
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
