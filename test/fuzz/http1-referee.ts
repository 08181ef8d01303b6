// Node's own HTTP/1 parser (llhttp, without any of its lenient flags) as the referee of how a byte stream is read.
//
// Two things are left to whoever uses llhttp, and are undone here: it stops behind a message that asks for another protocol, and
// behind one that ends the connection. Another parser goes on behind those, so that a reader that knows nothing about
// connections can be compared as well; the messages say that it was so.
import { createRequire } from 'node:module';
import type { Reading, ReadMessage, WireStream } from './http1-reading.ts';

interface ParseError extends Error {
  readonly code: string;
  readonly reason: string;
  readonly bytesParsed: number;
}

/** What node:http uses of its parser; it is not part of Node's documented interface. */
interface NativeParser {
  [callback: number]: ((...values: never[]) => number | void) | undefined;
  initialize(type: number, resource: object, maxHeaderSize: number, lenientFlags: number): void;
  execute(bytes: Buffer): number | ParseError;
  finish(): ParseError | undefined;
}

interface NativeParserClass {
  new (): NativeParser;
  readonly REQUEST: number;
  readonly RESPONSE: number;
  readonly kOnMessageBegin: number;
  readonly kOnHeaders: number;
  readonly kOnHeadersComplete: number;
  readonly kOnBody: number;
  readonly kOnMessageComplete: number;
}

const { HTTPParser, methods } = createRequire(import.meta.url)('_http_common') as {
  HTTPParser: NativeParserClass;
  methods: readonly string[];
};

/** The methods that the referee knows. */
export const refereeMethods: readonly string[] = methods;

/** The parser's numbers of methods are places in this list, but for one that came late: between them are those of other protocols. */
const queryNumber = 46;

const maxHeaderSize = 16 * 1024 * 1024;

/**
 * Reads streams, one after the other. Whether an answer to HEAD closes the connection is not asked: the parser judges that before it is
 * told that there is no body.
 */
export class Referee {
  readonly #parser = new HTTPParser();
  #stream: WireStream = { kind: 'request', bytes: '', methods: [] };
  #messages: ReadMessage[] = [];
  #current: ReadMessage | undefined;
  #fields: string[] = [];
  #url = '';
  #begun = false;
  #answered = 0;
  /** Where the bytes that are given to the parser end. */
  #offset = 0;
  #byteByByte = false;

  constructor() {
    const parser = this.#parser;
    parser[HTTPParser.kOnMessageBegin] = () => void (this.#begun = true);
    parser[HTTPParser.kOnHeaders] = (fields: string[], url: string) => {
      this.#fields.push(...fields);
      this.#url += url;
    };
    parser[HTTPParser.kOnHeadersComplete] = (...values: unknown[]) => this.#onHead(values);
    parser[HTTPParser.kOnBody] = (chunk: Buffer) => void (this.#current!.body += chunk.toString('latin1'));
    parser[HTTPParser.kOnMessageComplete] = () => this.#onComplete();
  }

  /** Reads a stream at once, or byte by byte, which also says where each message ends. */
  read(stream: WireStream, byteByByte = false): Reading {
    this.#stream = stream;
    this.#messages = [];
    this.#answered = 0;
    this.#byteByByte = byteByByte;
    const bytes = Buffer.from(stream.bytes, 'latin1');
    let offset = 0;
    let error: { readonly code: string; readonly reason: string } | undefined;
    this.#restart();
    while (offset < bytes.length) {
      const next = byteByByte ? offset + 1 : bytes.length;
      this.#offset = next;
      const result = this.#parser.execute(bytes.subarray(offset, next));
      if (typeof result !== 'number') {
        if (result.code !== 'HPE_CLOSED_CONNECTION') {
          error = result;
          break;
        }
        offset += result.bytesParsed - 1;
        this.#restart();
        continue;
      }
      offset += result;
      if (this.#isSwitched()) {
        this.#restart();
      } else if (offset !== next) {
        // Node does not tell errors in the body of a message that asks for another protocol: the parser just does not go on.
        error = { code: 'STOPPED', reason: `within a message, at ${offset}` };
        break;
      }
    }
    if (error === undefined && (this.#begun || this.#current !== undefined)) {
      const result = this.#parser.finish();
      if (result instanceof Error) error = result;
    }
    const truncated = error?.code === 'HPE_INVALID_EOF_STATE';
    return {
      messages: this.#messages,
      unfinished: this.#current,
      outcome: error === undefined ? 'complete' : truncated ? 'truncated' : 'refused',
      error: error === undefined || truncated ? undefined : `${error.code}: ${error.reason}`,
    };
  }

  #restart(): void {
    const type = this.#stream.kind === 'request' ? HTTPParser.REQUEST : HTTPParser.RESPONSE;
    this.#parser.initialize(type, {}, maxHeaderSize, 0);
    this.#current = undefined;
    this.#fields = [];
    this.#url = '';
    this.#begun = false;
  }

  #isSwitched(): boolean {
    return !this.#begun && this.#current === undefined && this.#messages.at(-1)?.switches === true;
  }

  #onHead(values: unknown[]): number {
    const [major, minor, fields, method, url, status, reason, upgrade, keepAlive] = values;
    const headers = (fields as string[] | undefined) ?? this.#fields;
    this.#fields = [];
    const target = (url as string | undefined) ?? this.#url;
    this.#url = '';
    const version = `${String(major)}.${String(minor)}`;
    const isRequest = this.#stream.kind === 'request';
    const isFinal = (status as number) >= 200;
    const isToHead = !isRequest && isFinal && this.#stream.methods[this.#answered] === 'HEAD';
    if (isFinal || status === 101) this.#answered += 1;
    this.#current = {
      startLine: isRequest
        ? `${method === queryNumber ? 'QUERY' : methods[method as number]} ${target} ${version}`
        : `${version} ${String(status)} ${String(reason)}`,
      headers,
      body: '',
      trailers: [],
      end: undefined,
      closes: isToHead || hasProxyConnection(headers) ? undefined : keepAlive !== true,
      switches: upgrade === true || status === 101,
    };
    return isToHead ? 1 : 0;
  }

  #onComplete(): void {
    const message = this.#current!;
    message.trailers = this.#fields;
    if (this.#byteByByte) message.end = this.#offset;
    this.#fields = [];
    this.#url = '';
    this.#messages.push(message);
    this.#current = undefined;
    this.#begun = false;
  }
}

/** A field that no standard has, and that the referee takes for Connection. */
function hasProxyConnection(headers: readonly string[]): boolean {
  return headers.some((name) => name.length === 16 && name.toLowerCase() === 'proxy-connection');
}
