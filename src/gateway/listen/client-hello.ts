// Reads the server name (RFC 6066, 3) out of a TLS ClientHello (RFC 8446, 4.1.2) before TLS starts. Node's own SNI callback presents only one
// certificate of a context and cannot refuse a name with an alert. With the name known first, a connection starts with its whole context or not at all.

/** The verdict on the first bytes of a connection on a TLS port. */
export type ClientHello =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'complete'; readonly serverName: string | undefined }
  /** Not a valid ClientHello: the TLS library answers with the right alert. */
  | { readonly kind: 'invalid' };

const incomplete: ClientHello = { kind: 'incomplete' };
const invalid: ClientHello = { kind: 'invalid' };
const maxHelloBytes = 65_536;

/** Judges the bytes received so far. */
export function readClientHello(received: Buffer): ClientHello {
  const bytes = joinRecords(received);
  if (bytes === undefined || (bytes.length > 0 && bytes[0] !== 1)) return invalid;
  if (bytes.length < 4) return incomplete;
  const length = bytes.readUIntBE(1, 3);
  if (length > maxHelloBytes) return invalid;
  if (bytes.length < 4 + length) return incomplete;
  try {
    return { kind: 'complete', serverName: findServerName(new Reader(bytes.subarray(4, 4 + length))) };
  } catch (error) {
    if (error instanceof RangeError) return invalid;
    throw error;
  }
}

/** The handshake bytes without their record headers; undefined when these are no TLS handshake records. */
function joinRecords(received: Buffer): Buffer | undefined {
  const fragments: Buffer[] = [];
  let position = 0;
  while (position < received.length) {
    if (received[position] !== 22) return undefined;
    if (position + 1 < received.length && received[position + 1] !== 3) return undefined;
    if (position + 5 > received.length) break;
    const length = received.readUInt16BE(position + 3);
    // Empty fragments and oversized records are both forbidden (RFC 8446, 5.1).
    if (length === 0 || length > 16_384) return undefined;
    fragments.push(received.subarray(position + 5, position + 5 + length));
    position += 5 + length;
  }
  return Buffer.concat(fragments);
}

function findServerName(hello: Reader): string | undefined {
  hello.skip(2 + 32); // version, random
  hello.skip(hello.readNumber(1)); // session id
  hello.skip(hello.readNumber(2)); // cipher suites
  hello.skip(hello.readNumber(1)); // compression methods
  if (hello.left === 0) return undefined;
  const extensions = new Reader(hello.read(hello.readNumber(2)));
  while (extensions.left > 0) {
    const type = extensions.readNumber(2);
    const content = extensions.read(extensions.readNumber(2));
    if (type !== 0) continue;
    const list = new Reader(content);
    const names = new Reader(list.read(list.readNumber(2)));
    while (names.left > 0) {
      const nameType = names.readNumber(1);
      const name = names.read(names.readNumber(2));
      if (nameType === 0) return name.toString('latin1').toLowerCase();
    }
  }
  return undefined;
}

/** Reads forward; throws a RangeError past the end. */
class Reader {
  readonly #bytes: Buffer;
  #position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#position;
  }

  readNumber(size: 1 | 2): number {
    const value = this.#bytes.readUIntBE(this.#position, size);
    this.#position += size;
    return value;
  }

  read(length: number): Buffer {
    if (length > this.left) throw new RangeError('the ClientHello is shorter than it says');
    const start = this.#position;
    this.#position += length;
    return this.#bytes.subarray(start, this.#position);
  }

  skip(length: number): void {
    this.read(length);
  }
}
