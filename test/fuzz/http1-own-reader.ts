// The reader of src/http1, given a stream as a connection would: at once, in pieces, byte by byte, paused in the middle of everything.
import { type ReaderLimits, RequestReader, ResponseReader } from '../../src/http1/message-reader.ts';
import type { RequestHead } from '../../src/http1/request-head.ts';
import type { ResponseHead } from '../../src/http1/response-head.ts';
import type { SeededRandom } from '../security/seeded-random.ts';
import type { Reading, ReadMessage, WireStream } from './http1-reading.ts';

/** How the bytes arrive. `pieces` are cut by chance, and the reader is paused by chance. */
export type Delivery =
  | { readonly kind: 'whole' }
  | { readonly kind: 'byte by byte' }
  | { readonly kind: 'pieces'; readonly random: SeededRandom };

/** More than any drawn head needs. */
const wideLimits: ReaderLimits = { maxHeaderBytes: 65_536, maxHeaderCount: 128 };

/** A reading, and the words of the refusal. */
export interface OwnReading extends Reading {
  /** What kind of error it was. */
  readonly code: string | undefined;
}

/** Reads a stream. What it pauses it resumes, sooner or later. Throws when the reader breaks its own promises. */
export function readByOwnReader(stream: WireStream, delivery: Delivery, limits = wideLimits): OwnReading {
  const messages: ReadMessage[] = [];
  let current: ReadMessage | undefined;
  let failure: { readonly code: string; readonly message: string } | undefined;
  let answered = 0;
  let end: number | undefined;
  const random = delivery.kind === 'pieces' ? delivery.random : undefined;
  const pausesOften = random !== undefined && random.below(3) === 0;
  const flow = { isPaused: false };
  const setPaused = (value: boolean): void => {
    flow.isPaused = value;
    if (value) reader.pause();
    else reader.resume();
  };

  const check = (isExpected: boolean, event: string): void => {
    if (failure !== undefined) throw new Error(`${event} after the error "${failure.message}"`);
    if (!isExpected) throw new Error(`${event} out of turn`);
    // The end belongs to what was told just before it.
    if (flow.isPaused && event !== 'onEnd') throw new Error(`${event} while paused`);
  };
  const disturbByChance = (): void => {
    if (!pausesOften || random.below(3) !== 0) return;
    // More bytes arrive while it tells something.
    if (random.below(4) === 0) pushNext();
    setPaused(true);
    if (random.below(4) === 0) setPaused(false);
  };
  const events = {
    onHead(head: RequestHead | ResponseHead) {
      check(current === undefined, 'onHead');
      current = describeHead(head);
      disturbByChance();
    },
    onBody(chunk: Buffer) {
      check(current !== undefined, 'onBody');
      if (chunk.length === 0) throw new Error('an empty chunk');
      current!.body += chunk.toString('latin1');
      disturbByChance();
    },
    onEnd(trailers: readonly string[]) {
      check(current !== undefined, 'onEnd');
      const message = current!;
      message.trailers = trailers;
      message.end = end;
      messages.push(message);
      current = undefined;
      if (reader instanceof ResponseReader && (!/^1\.[01] 1/.test(message.startLine) || message.switches)) {
        answered += 1;
        reader.isToHead = stream.methods[answered] === 'HEAD';
      }
      disturbByChance();
    },
    onError(error: { readonly code: string; readonly message: string }) {
      if (failure !== undefined) throw new Error('a second error');
      failure = error;
    },
  };
  const reader = stream.kind === 'request' ? new RequestReader(limits, events) : new ResponseReader(limits, events);
  if (reader instanceof ResponseReader) reader.isToHead = stream.methods[0] === 'HEAD';

  const bytes = Buffer.from(stream.bytes, 'latin1');
  let pushed = 0;
  const pushNext = (): Buffer => {
    const size =
      delivery.kind === 'whole'
        ? bytes.length
        : random === undefined
          ? 1
          : 1 + random.below(random.below(2) === 0 ? 4 : bytes.length);
    const piece = Buffer.from(bytes.subarray(pushed, pushed + size));
    pushed += piece.length;
    if (delivery.kind === 'byte by byte') end = pushed;
    reader.push(piece);
    return piece;
  };
  while (pushed < bytes.length) {
    const piece = pushNext();
    while (flow.isPaused && random?.below(3) !== 0) setPaused(false);
    // The memory of what was read may be used for something else.
    if (reader.waitingBytes === 0) piece.fill(0x41);
  }
  reader.end();
  while (flow.isPaused) setPaused(false);

  const isTruncated = failure?.code === 'incomplete';
  return {
    messages,
    unfinished: current,
    outcome: failure === undefined ? 'complete' : isTruncated ? 'truncated' : 'refused',
    error: failure === undefined || isTruncated ? undefined : failure.message,
    code: failure?.code,
  };
}

/** Stops a reader at the first message that has another protocol follow, and says where that begins: undefined when there is none. */
export function findSwitch(stream: WireStream, random: SeededRandom): number | undefined {
  const bytes = Buffer.from(stream.bytes, 'latin1');
  let rest: Buffer | undefined;
  let pushed = 0;
  let stopsLater = false;
  const noteMore = (): void => {
    if (rest !== undefined) throw new Error('it goes on after it was stopped');
  };
  const events = {
    onHead(head: RequestHead | ResponseHead) {
      noteMore();
      if (!describeHead(head).switches) return;
      stopsLater = random.below(2) === 0;
      if (stopsLater) reader.pause();
      else rest = reader.stop();
    },
    onBody: noteMore,
    // The head has ended as well as the message.
    onEnd: () => {},
    onError: noteMore,
  };
  const reader =
    stream.kind === 'request' ? new RequestReader(wideLimits, events) : new ResponseReader(wideLimits, events);
  while (pushed < bytes.length && rest === undefined) {
    const piece = bytes.subarray(pushed, pushed + 1 + random.below(random.below(2) === 0 ? 4 : bytes.length));
    pushed += piece.length;
    reader.push(piece);
    if (stopsLater && rest === undefined && (random.below(2) === 0 || pushed === bytes.length)) rest = reader.stop();
  }
  if (rest === undefined) return undefined;
  const at = pushed - rest.length;
  if (!rest.equals(bytes.subarray(at, pushed))) throw new Error('what follows is not what was sent');
  reader.push(bytes.subarray(pushed));
  reader.end();
  return at;
}

function describeHead(head: RequestHead | ResponseHead): ReadMessage {
  const isRequest = 'method' in head;
  return {
    startLine: isRequest
      ? `${head.method} ${head.target} ${head.authority} ${head.httpVersion}`
      : `${head.httpVersion} ${head.status}`,
    headers: head.headers,
    body: '',
    trailers: [],
    end: undefined,
    closes: !head.keepsAlive,
    switches: isRequest ? head.upgradeProtocol !== undefined : head.status === 101,
  };
}
