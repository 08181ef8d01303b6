// Ids of requests: random UUIDs (RFC 9562, version 4), made in batches. crypto.randomUUID costs three times as much and returns strings made of twenty pieces.
import { randomFillSync } from 'node:crypto';

const idLength = 36;

/** Ids per batch. Each id is a slice that keeps the text of its whole batch alive, and the request journal keeps single ids for long: so the batch is small. */
const idsPerText = 32;
const idsPerPool = 256;

/** The positions of the sixteen bytes in the text; the dashes are between them. */
const positions = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;

/** The two hexadecimal digits of each byte, the first digit in the lower half. */
const digits = Uint16Array.from({ length: 256 }, (_, byte) => {
  const text = byte.toString(16).padStart(2, '0');
  return text.charCodeAt(0) | (text.charCodeAt(1) << 8);
});

const pool = new Uint8Array(idsPerPool * 16);
let poolAt = pool.length;
const bytes = Buffer.alloc(idsPerText * idLength, '-');
const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
let text = '';
let textAt = 0;

/** An unguessable id. */
export function createRequestId(): string {
  if (textAt === text.length) makeText();
  const start = textAt;
  textAt += idLength;
  return text.slice(start, textAt);
}

function makeText(): void {
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  for (let at = 0; at < bytes.length; at += idLength) {
    pool[poolAt + 6] = (pool[poolAt + 6]! & 0x0f) | 0x40;
    pool[poolAt + 8] = (pool[poolAt + 8]! & 0x3f) | 0x80;
    for (let index = 0; index < 16; index += 1)
      view.setUint16(at + positions[index]!, digits[pool[poolAt + index]!]!, true);
    poolAt += 16;
  }
  text = bytes.toString('latin1');
  textAt = 0;
}
