// Carries a request body from a node stream to a BodySink with backpressure. For HTTP/2.
import type { Readable } from 'node:stream';
import type { BodyFlow, BodySink, RawHeaders } from '../http/exchange.ts';
import { IncompleteBodyError } from './incomplete-body-error.ts';

/** One body in flight. The stream must emit 'end' only for a complete body; otherwise it emits 'error', or `fail` is called. */
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

  /** Tells the sink that the body stays incomplete; does nothing if the sink already got its end. */
  fail(cause?: unknown): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.fail(new IncompleteBodyError(cause));
  }

  #deliver(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const sink = this.#sink;
    if (sink === undefined) return;
    // A sink may call resume before its write returns false: then there is nothing to wait for.
    const resumesBefore = this.#resumes;
    if (!sink.write(chunk) && this.#resumes === resumesBefore && this.#sink !== undefined) this.#stream.pause();
  }

  #finish(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(this.#readTrailers());
  }
}

/** The flow of an empty body: the sink gets its end as soon as the caller has returned. */
export function deliverNothing(tellSink: () => void): BodyFlow {
  queueMicrotask(tellSink);
  return { resume: () => {}, discard: () => {} };
}
