// Idle connections: the kernel probes from time to time whether the peer is still there (TCP keep-alive), since a vanished peer sends no FIN.
import type { Socket } from 'node:net';

/** Idle time before the first probe. It has jitter: thousands of connections that were opened together would probe together, and probes could get lost. */
const firstMs = 45_000;
const spreadMs = 30_000;
/** Node's default, ten probes of one second each, would drop a peer that was unreachable for ten seconds. */
const intervalMs = 15_000;
const probes = 8;

/** As Node 26 has it; its types do not say so yet. */
type SetKeepAlive = (enable: boolean, initialDelay: number, interval: number, count: number) => void;

/** Detects within three minutes that the peer is gone. */
export function watchForSilentPeer(socket: Socket): void {
  const initialDelay = firstMs + Math.floor(Math.random() * spreadMs);
  (socket.setKeepAlive as SetKeepAlive).call(socket, true, initialDelay, intervalMs, probes);
}
