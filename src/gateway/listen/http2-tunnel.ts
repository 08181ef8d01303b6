// The bytes of an extended CONNECT (RFC 8441) as a plain duplex stream that counts them.
import type { ServerHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import { getHttp2 } from '../../base/node-parts.ts';

/** Wraps the stream; destroying it resets the stream. */
export class Http2Tunnel extends Duplex {
  readonly #stream: ServerHttp2Stream;
  bytesRead = 0;
  bytesWritten = 0;

  constructor(stream: ServerHttp2Stream) {
    super({ allowHalfOpen: true });
    this.#stream = stream;
    stream.on('end', () => this.push(null));
    stream.on('error', (error) => this.destroy(error));
    stream.on('close', () => this.destroy());
    this.on('error', () => {});
  }

  /** Both directions ended regularly. */
  get endedWell(): boolean {
    return this.readableEnded && this.writableFinished;
  }

  override _read(): void {
    if (this.#stream.listenerCount('data') === 0) {
      this.#stream.on('data', (chunk: Buffer) => {
        this.bytesRead += chunk.length;
        if (!this.push(chunk)) this.#stream.pause();
      });
    }
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.bytesWritten += chunk.length;
    this.#stream.write(chunk, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#stream.end(callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#stream.destroyed) {
      this.#stream.close(
        error === null ? getHttp2().constants.NGHTTP2_CANCEL : getHttp2().constants.NGHTTP2_INTERNAL_ERROR,
      );
    }
    callback(error);
  }
}
