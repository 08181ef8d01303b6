// Aborts HTTP/2 streams whose trailers node is going to request.
import type { Http2Stream } from 'node:http2';

/**
 * When a stream is destroyed while bytes of its connection are read, Node 26 keeps it, and aborts the process when it asks that stream for trailers. Node
 * also destroys a stream that was closed and then read to its end. So the stream is closed when nothing is read, and then destroyed here: destroy sends
 * the reset, however busy the socket is.
 */
export function closeWithTrailersDue(stream: Http2Stream, code: number): void {
  setImmediate(() => {
    if (stream.destroyed) return;
    stream.close(code);
    stream.destroy();
  });
}
