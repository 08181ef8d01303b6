// Finds dead HTTP/2 connections (RFC 9113, 6.7): a peer that is gone does not answer a PING.
import type { Http2Session } from 'node:http2';

export interface KeepAliveOptions {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/**
 * Pings the peer, and destroys the session when it does not answer in time. Bytes that arrive meanwhile count as an answer: a PING waits behind what is
 * already on its way, and a slow connection is not a dead one.
 */
export function keepAlive(
  session: Http2Session,
  { intervalMs, timeoutMs }: KeepAliveOptions,
  onDead: () => void,
): void {
  let deadline: NodeJS.Timeout | undefined;
  const interval = setInterval(() => {
    if (deadline === undefined && !session.destroyed) ping();
  }, intervalMs).unref();
  session.once('close', () => {
    clearInterval(interval);
    clearTimeout(deadline);
  });

  function ping(): void {
    watch(readCount(session));
    session.ping((error) => {
      // An error means that the session is over.
      if (error !== null) return;
      clearTimeout(deadline);
      deadline = undefined;
    });
  }

  function watch(before: number): void {
    deadline = setTimeout(() => {
      if (session.destroyed) return;
      const now = readCount(session);
      if (now > before) return watch(now);
      onDead();
      session.destroy();
    }, timeoutMs).unref();
  }
}

function readCount(session: Http2Session): number {
  return session.socket?.bytesRead ?? 0;
}
