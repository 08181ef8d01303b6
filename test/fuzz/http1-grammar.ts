// Parts that requests and answers have in common (RFC 9112): fields, bodies and how they are framed. All that is drawn here is valid.
import type { SeededRandom } from '../security/seeded-random.ts';

/** True once in `times`. */
export function chance(random: SeededRandom, times: number): boolean {
  return random.below(times) === 0;
}

/** One to `most` characters out of a string. */
export function drawText(random: SeededRandom, alphabet: string, most: number): string {
  let text = '';
  for (let left = 1 + random.below(most); left > 0; left -= 1) text += alphabet[random.below(alphabet.length)];
  return text;
}

/** Every character of a token (RFC 9110, 5.6.2). */
export const tokenCharacters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const wordCharacters = 'abcdefghijklmnopqrstuvwxyz0123456789-';
const valueCharacters = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index)).join('');
const highCharacters = Array.from({ length: 128 }, (_, index) => String.fromCharCode(0x80 + index)).join('');
const bodyCharacters = Array.from({ length: 256 }, (_, index) => String.fromCharCode(index)).join('');

const commonNames = [
  'Accept',
  'User-Agent',
  'X-Request-Id',
  'Authorization',
  'Cookie',
  'Mcp-Session-Id',
  'Date',
  'Via',
];
/** Almost names that frame a message, and names that servers have taken for those. */
const nearNames = [
  'Content-Lengt',
  'Content-Lengthy',
  'Content_Length',
  'Transfer_Encoding',
  'Transfer-Encodin',
  'Transfer-Encodings',
  'X-Content-Length',
  'X-Transfer-Encoding',
  'TE',
  'Trailer',
  'Hos',
  'Hosts',
  'Connectio',
  'Proxy-Connection',
  'Keep-Alive',
];
const nearValues = [
  'chunked',
  'close',
  'keep-alive',
  'upgrade',
  '5',
  '0',
  'gzip, chunked',
  '100-continue',
  'localhost',
];

/** The same name in another spelling. */
export function drawCase(random: SeededRandom, name: string): string {
  switch (random.below(4)) {
    case 0:
      return name.toLowerCase();
    case 1:
      return name.toUpperCase();
    case 2:
      return name
        .split('')
        .map((letter) => (random.below(2) === 0 ? letter.toLowerCase() : letter.toUpperCase()))
        .join('');
    default:
      return name;
  }
}

function drawWhitespace(random: SeededRandom): string {
  return random.below(6) === 0 ? drawText(random, ' \t', 3) : ' ';
}

function drawValue(random: SeededRandom): string {
  switch (random.below(8)) {
    case 0:
      return '';
    case 1:
      return random.pick(nearValues);
    case 2:
      return `${drawText(random, valueCharacters, 5)}${drawText(random, ' \t', 3)}${drawText(random, valueCharacters, 5)}`;
    case 3:
      return drawText(random, highCharacters, 6);
    case 4:
      return drawText(random, valueCharacters, 120);
    default:
      return drawText(random, valueCharacters, 12);
  }
}

/** One field line, with its end. Optional whitespace is around the value. */
export function drawField(random: SeededRandom, name: string, value: string): string {
  const behind = random.below(8) === 0 ? drawText(random, ' \t', 3) : '';
  const before = random.below(8) === 0 ? '' : drawWhitespace(random);
  return `${name}:${before}${value}${behind}\r\n`;
}

/** A field line that says how long a message is. llhttp does not take `chunked` for what it is when a tab is behind it. */
export function drawFramingField(random: SeededRandom, name: string, value: string): string {
  return drawField(random, drawCase(random, name), value).replaceAll('\t', ' ');
}

/** Fields that say nothing about framing, connection or host. */
export function drawPlainFields(random: SeededRandom, most: number): string[] {
  const fields: string[] = [];
  for (let left = random.below(most + 1); left > 0; left -= 1) {
    const kind = random.below(8);
    const name =
      kind === 0
        ? random.pick(nearNames)
        : kind < 3
          ? `x${drawText(random, tokenCharacters, 12)}`
          : kind < 5
            ? `x-${drawText(random, wordCharacters, 12)}`
            : drawCase(random, random.pick(commonNames));
    fields.push(drawField(random, name, drawValue(random)));
  }
  return fields;
}

/** Any bytes; now and then such that look like messages. */
export function drawContent(random: SeededRandom): string {
  switch (random.below(8)) {
    case 0:
      return 'GET /inner HTTP/1.1\r\nHost: inner\r\n\r\n';
    case 1:
      return 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
    case 2:
      return '0\r\n\r\n';
    case 3:
      return drawText(random, bodyCharacters, 600);
    case 4:
      return drawText(random, '\r\n', 6);
    default:
      return drawText(random, bodyCharacters, 24);
  }
}

function drawExtension(random: SeededRandom): string {
  const name = drawText(random, tokenCharacters, 6);
  switch (random.below(4)) {
    case 0:
      return `;${name}`;
    case 1:
      return `;${name}="${drawText(random, `${wordCharacters} ;=,:\t\\"`, 8).replaceAll(/[\\"]/g, '\\$&')}"`;
    default:
      return `;${name}=${drawText(random, tokenCharacters, 6)}`;
  }
}

function drawChunkSize(random: SeededRandom, size: number): string {
  const digits = random.below(2) === 0 ? size.toString(16) : size.toString(16).toUpperCase();
  const zeros = random.below(6) === 0 ? '0'.repeat(1 + random.below(3)) : '';
  let extensions = '';
  if (random.below(4) === 0)
    for (let left = 1 + random.below(3); left > 0; left -= 1) extensions += drawExtension(random);
  return `${zeros}${digits}${extensions}\r\n`;
}

/** A whole chunked body, with the last chunk and at times a trailer section. */
export function drawChunkedBody(random: SeededRandom): string {
  let body = '';
  for (let left = random.below(4); left > 0; left -= 1) {
    const content = drawContent(random);
    body += `${drawChunkSize(random, content.length)}${content}\r\n`;
  }
  const trailers = random.below(3) === 0 ? drawPlainFields(random, 3).join('') : '';
  return `${body}${drawChunkSize(random, 0)}${trailers}\r\n`;
}

/** A length as a field says it. */
export function drawLength(random: SeededRandom, length: number): string {
  return random.below(8) === 0 ? `${'0'.repeat(1 + random.below(3))}${length}` : String(length);
}

/** Puts fields into any order. */
export function shuffle<T>(random: SeededRandom, list: T[]): T[] {
  for (let last = list.length - 1; last > 0; last -= 1) {
    const other = random.below(last + 1);
    [list[last], list[other]] = [list[other]!, list[last]!];
  }
  return list;
}
