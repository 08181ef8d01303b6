// One stream to an endpoint picker: gRPC over a connection of the same pools that requests take. Messages in both directions, each side waits for the
// other, and an end that says why.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  ExternalProcessor,
  type ProcessingRequest,
  ProcessingRequestSchema,
  type ProcessingResponse,
  ProcessingResponseSchema,
} from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { findHeader } from '../http/headers.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from '../forward/upstream/upstream-call.ts';
import { describeError } from '../forward/upstream/upstream-error.ts';
import type { Endpoint, UpstreamBackend } from '../forward/upstream/upstreams.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { encodeGrpcMessage, GrpcFrameReader, grpcPrefixBytes } from '../../base/grpc-frames.ts';

export interface PickerStreamEvents {
  /** It can be asked. */
  onOpen(): void;
  /** False: no more until `resume`. */
  onAnswer(answer: ProcessingResponse): boolean;
  /** `send` returned false before; now there is room. */
  onDrain(): void;
  /** It is over, and was not meant to be. Nothing comes after this. */
  onLost(detail: string): void;
}

/** Of one answer. Pickers send bodies in pieces of 64 KiB. */
const maxAnswerBytes = 4 * 1024 * 1024;

/** A picker that does not end its side of a stream in this time is not waited for. */
const finishMs = 5_000;

const request: Omit<UpstreamRequest, 'host'> = {
  method: 'POST',
  target: `/${ExternalProcessor.typeName}/${ExternalProcessor.method.process.name}`,
  headers: ['content-type', 'application/grpc', 'te', 'trailers', 'user-agent', 'mcp-gatehouse'],
  hasBody: true,
  contentLength: undefined,
  wantsTrailers: false,
  upgrade: undefined,
};

/** A stream; begins with `open`. */
export class PickerStream implements UpstreamEvents {
  readonly #picker: UpstreamBackend;
  readonly #maxRetries: number;
  readonly #events: PickerStreamEvents;
  readonly #tried: Endpoint[] = [];
  readonly #frames = new GrpcFrameReader(checkAnswerPrefix);
  #call: UpstreamCall | undefined;
  #isOpen = false;
  #isPaused = false;
  #isFull = false;
  #isFinished = false;
  #isOver = false;
  #status: RawHeaders = [];
  #lastTimer: NodeJS.Timeout | undefined;

  constructor(picker: UpstreamBackend, maxRetries: number, events: PickerStreamEvents) {
    this.#picker = picker;
    this.#maxRetries = maxRetries;
    this.#events = events;
  }

  /** host:port of the picker that is asked. */
  get name(): string {
    return this.#tried.at(-1)?.pool.name ?? this.#picker.config.key;
  }

  open(): void {
    const endpoint = this.#picker.pick(this.#tried);
    if (endpoint === undefined) return this.#lose('it has no ready endpoint');
    this.#tried.push(endpoint);
    const { tls } = this.#picker.config;
    const host = tls === undefined || tls.serverName === '' ? endpoint.pool.name : tls.serverName;
    this.#call = endpoint.pool.createCall({ ...request, host }, this);
    this.#call.start();
  }

  /** After onOpen. False: wait for onDrain. */
  send(message: Omit<ProcessingRequest, '$typeName' | '$unknown'>): boolean {
    if (this.#isOver) return true;
    this.#isFull = !this.#call!.writeBody(
      encodeGrpcMessage(toBinary(ProcessingRequestSchema, create(ProcessingRequestSchema, message))),
    );
    return !this.#isFull;
  }

  /** It takes no more at the moment. */
  get isFull(): boolean {
    return this.#isFull;
  }

  resume(): void {
    if (!this.#isPaused || this.#isOver) return;
    this.#isPaused = false;
    this.#deliver();
    if (!this.#isPaused) this.#call?.resume();
  }

  /** Ends the sending side. The stream is closed after a timeout if the picker does not end it. */
  finish(): void {
    if (this.#isOver || this.#isFinished) return;
    this.#isFinished = true;
    this.#lastTimer = setTimeout(() => this.abort(), finishMs).unref();
    this.#call?.endBody([]);
    // What it may still say is read and thrown away.
    this.#call?.resume();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#lastTimer);
    this.#call?.abort();
  }

  // ---- events of the connection

  onStart(): void {
    this.#isOpen = true;
    this.#events.onOpen();
  }

  onInformational(): void {}

  onHead(status: number, headers: RawHeaders): void {
    if (this.#isOver) return;
    if (status !== 200) return this.#lose(`it answered HTTP ${status}`);
    const type = findHeader(headers, 'content-type') ?? '';
    if (!type.toLowerCase().startsWith('application/grpc'))
      return this.#lose(`it does not speak gRPC: content-type ${JSON.stringify(type.slice(0, 100))}`);
    // An error without any message comes like this.
    if (findHeader(headers, 'grpc-status') !== undefined) this.#status = headers;
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#isOver || this.#isFinished) return true;
    this.#frames.push(chunk);
    if (!this.#isPaused) this.#deliver();
    return !this.#isPaused;
  }

  onEnd(trailers: RawHeaders): void {
    if (this.#isOver) return;
    const status = trailers.length > 0 ? trailers : this.#status;
    const code = findHeader(status, 'grpc-status');
    const message = findHeader(status, 'grpc-message');
    const words = message === undefined ? '' : `: ${decodeMessage(message)}`;
    // Also with status 0: it was not asked to stop.
    this.#lose(code === undefined ? 'it ended the stream' : `it ended the stream with gRPC status ${code}${words}`);
  }

  onUpgrade(): void {}

  onBodyDrain(): void {
    this.#isFull = false;
    if (!this.#isOver && !this.#isFinished) this.#events.onDrain();
  }

  onBodyRefused(): void {
    this.#lose('it takes no more messages');
  }

  onError(error: Error): void {
    if (this.#isOver) return;
    if (!this.#isOpen && this.#tried.length <= this.#maxRetries && this.#picker.pick(this.#tried) !== undefined)
      return this.open();
    this.#lose(describeError(error));
  }

  #deliver(): void {
    while (!this.#isPaused && !this.#isOver && !this.#isFinished) {
      const answer = this.#read();
      if (answer === undefined) return;
      if (!this.#events.onAnswer(answer)) this.#isPaused = true;
    }
  }

  #read(): ProcessingResponse | undefined {
    try {
      const frame = this.#frames.take();
      return frame && fromBinary(ProcessingResponseSchema, frame.subarray(grpcPrefixBytes));
    } catch (error) {
      this.#lose(`its answer cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  #lose(detail: string): void {
    if (this.#isOver) return;
    this.abort();
    if (!this.#isFinished) this.#events.onLost(`${this.name}: ${detail}`);
  }
}

/** Refuses an answer before it has arrived. */
function checkAnswerPrefix(length: number, isCompressed: boolean): void {
  if (isCompressed) throw new Error('a message is compressed, but the gateway did not offer compression');
  if (length > maxAnswerBytes) throw new Error(`a message of ${length} bytes is larger than ${maxAnswerBytes}`);
}

/** Percent-encoded where it is not plain ASCII. */
function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text).slice(0, 300);
  } catch {
    return text.slice(0, 300);
  }
}
