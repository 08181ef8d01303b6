// Breaks off HTTP/2 streams that node is going to ask for trailers.
import type { Http2Stream } from 'node:http2';

/**
 * Node 26 keeps a stream that is destroyed while bytes of its connection are read, and aborts the process when it asks that stream for trailers. Node
 * destroys by itself what was closed and then read to its end. So such a stream is closed when nothing is read, and not left to node after that: destroy
 * sends the reset, however busy the socket is.
 */
export function closeWithTrailersDue(stream: Http2Stream, code: number): void {
  setImmediate(() => {
    if (stream.destroyed) return;
    stream.close(code);
    stream.destroy();
  });
}
