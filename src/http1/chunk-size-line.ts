// The line before each chunk (RFC 9112 section 7.1): a size in hexadecimal digits, extensions, CRLF. Read byte by byte, since it may
// arrive in pieces. Extensions are checked and thrown away.
import { isTokenCharacter } from './field-lines.ts';
import { Http1Error } from './http1-error.ts';

/** Digits of a size, leading zeros included: as many as a number holds exactly. */
const maxDigits = 13;
/** Bytes of all extensions of one body. */
const maxExtensionBytes = 16_384;

const inSize = 0;
const atExtensionName = 1;
const inExtensionName = 2;
const atExtensionValue = 3;
const inTokenValue = 4;
const inQuotedValue = 5;
const afterBackslash = 6;
const afterQuotedValue = 7;
const atLineFeed = 8;
type State = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const quote = 0x22;
const semicolon = 0x3b;
const equals = 0x3d;
const backslash = 0x5c;
const del = 0x7f;

/** Reads the size lines of one body, one after the other. */
export class ChunkSizeLine {
  size = 0;
  #digits = 0;
  #extensionBytes = 0;
  #state: State = inSize;

  /** To be called before the first line of a body. */
  begin(): void {
    this.#extensionBytes = 0;
    this.#digits = 0;
    this.#state = inSize;
  }

  /** Reads from `start` on. Returns the end of the line, or -1 if it is not complete. After the end, `size` is the chunk's size until the next call. */
  read(bytes: Uint8Array, start: number): number {
    if (this.#state === inSize && this.#digits === 0) this.size = 0;
    for (let at = start; at < bytes.length; at++) {
      if (this.#take(bytes[at]!)) {
        this.#digits = 0;
        this.#state = inSize;
        return at + 1;
      }
    }
    return -1;
  }

  /** True: that was the last byte of the line. */
  #take(byte: number): boolean {
    const state = this.#state;
    if (state === inSize) {
      const digit = readHexDigit(byte);
      if (digit >= 0) {
        this.#digits += 1;
        if (this.#digits > maxDigits) throw new Http1Error('bad_request', 'a chunk size that is too large');
        this.size = this.size * 16 + digit;
        return false;
      }
      if (this.#digits === 0) throw new Http1Error('bad_request', 'a chunk without a size');
      if (byte === carriageReturn) this.#state = atLineFeed;
      else if (byte === semicolon) this.#state = atExtensionName;
      else throw new Http1Error('bad_request', 'a malformed chunk size');
      return false;
    }
    if (state === atLineFeed) {
      if (byte !== lineFeed) throw new Http1Error('bad_request', 'a chunk size without its line end');
      return true;
    }
    this.#extensionBytes += 1;
    if (this.#extensionBytes > maxExtensionBytes) throw new Http1Error('bad_request', 'too many chunk extensions');
    this.#state = this.#takeExtension(state, byte);
    return false;
  }

  #takeExtension(state: State, byte: number): State {
    switch (state) {
      case atExtensionName:
        if (isTokenCharacter[byte] === 1) return inExtensionName;
        break;
      case inExtensionName:
        if (isTokenCharacter[byte] === 1) return inExtensionName;
        if (byte === equals) return atExtensionValue;
        if (byte === semicolon) return atExtensionName;
        if (byte === carriageReturn) return atLineFeed;
        break;
      case atExtensionValue:
        if (byte === quote) return inQuotedValue;
        if (isTokenCharacter[byte] === 1) return inTokenValue;
        break;
      case inTokenValue:
        if (isTokenCharacter[byte] === 1) return inTokenValue;
        if (byte === semicolon) return atExtensionName;
        if (byte === carriageReturn) return atLineFeed;
        break;
      case inQuotedValue:
        if (byte === quote) return afterQuotedValue;
        if (byte === backslash) return afterBackslash;
        if (isText(byte)) return inQuotedValue;
        break;
      case afterBackslash:
        if (isText(byte)) return inQuotedValue;
        break;
      default:
        if (byte === semicolon) return atExtensionName;
        if (byte === carriageReturn) return atLineFeed;
    }
    throw new Http1Error('bad_request', 'a malformed chunk extension');
  }
}

function isText(byte: number): boolean {
  return (byte >= space && byte !== del) || byte === tab;
}

function readHexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  if (byte >= 0x61 && byte <= 0x66) return byte - 0x57;
  if (byte >= 0x41 && byte <= 0x46) return byte - 0x37;
  return -1;
}
