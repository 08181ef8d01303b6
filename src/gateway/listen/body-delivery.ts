// Carries a request body from a node stream to a BodySink with backpressure. For HTTP/2.
import type { Readable } from 'node:stream';
import type { BodyFlow, BodySink, RawHeaders } from '../http/exchange.ts';
import { IncompleteBodyError } from './incomplete-body-error.ts';

/** One body on its way. The stream's 'end' must mean a complete body, anything else an 'error' or a call of `fail`. */
export class BodyDelivery implements BodyFlow {
  readonly #stream: Readable;
  readonly #readTrailers: () => RawHeaders;
  #sink: BodySink | undefined;
  #resumes = 0;
  #bytes = 0;

  constructor(stream: Readable, sink: BodySink, readTrailers: () => RawHeaders) {
    this.#stream = stream;
    this.#sink = sink;
    this.#readTrailers = readTrailers;
    stream.on('data', (chunk: Buffer) => this.#deliver(chunk));
    stream.on('end', () => this.#finish());
    stream.on('error', (error) => this.fail(error));
  }

  /** Bytes of body that arrived so far. */
  get bytes(): number {
    return this.#bytes;
  }

  resume(): void {
    this.#resumes += 1;
    this.#stream.resume();
  }

  discard(): void {
    this.#sink = undefined;
    this.#stream.resume();
  }

  /** Tells the sink that no more will come; nothing when it knows the end already. */
  fail(cause?: unknown): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.fail(new IncompleteBodyError(cause));
  }

  #deliver(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const sink = this.#sink;
    if (sink === undefined) return;
    // A sink may say false and call resume before it returns: then there is nothing to wait for.
    const resumesBefore = this.#resumes;
    if (!sink.write(chunk) && this.#resumes === resumesBefore && this.#sink !== undefined) this.#stream.pause();
  }

  #finish(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(this.#readTrailers());
  }
}

/** The flow of a body that has no bytes: the sink hears about it as soon as the caller has returned. */
export function deliverNothing(tellSink: () => void): BodyFlow {
  queueMicrotask(tellSink);
  return { resume: () => {}, discard: () => {} };
}
