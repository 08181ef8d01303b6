// Looks at the first bytes of a connection and puts them back: HTTP/2 with prior knowledge (RFC 9113, 3.3) or HTTP/1 on a cleartext port,
// and the server name of a TLS ClientHello.
import type { Socket } from 'node:net';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** Why the detection failed: no byte came, too few came in time, or the client left. */
type PeekFailure = 'silent' | 'slow' | 'gone';

/**
 * Gathers bytes until `judge` has a verdict, then puts them back. The socket is paused when the callback runs, exactly once, with
 * `received` bytes in its buffer.
 */
export function peek<Verdict>(
  socket: Socket,
  timeoutMs: number,
  judge: (received: Buffer) => Verdict | undefined,
  callback: (outcome: { readonly verdict: Verdict; readonly received: number } | PeekFailure) => void,
): void {
  let seen: Buffer = Buffer.alloc(0);
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('data', onData);
    socket.off('end', onGone);
    socket.off('close', onGone);
    socket.pause();
  };
  const onData = (chunk: Buffer): void => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const verdict = judge(seen);
    if (verdict === undefined) return;
    stop();
    socket.unshift(seen);
    callback({ verdict, received: seen.length });
  };
  const onGone = (): void => {
    stop();
    callback('gone');
  };
  const timer = setTimeout(() => {
    stop();
    callback(seen.length === 0 ? 'silent' : 'slow');
  }, timeoutMs);
  socket.on('data', onData);
  socket.on('end', onGone);
  socket.on('close', onGone);
}

/** Undefined: the bytes received so far fit both. */
export function detectHttpVersion(received: Buffer): 'http1' | 'http2' | undefined {
  const length = Math.min(received.length, preface.length);
  if (preface.compare(received, 0, length, 0, length) !== 0) return 'http1';
  return received.length >= preface.length ? 'http2' : undefined;
}
