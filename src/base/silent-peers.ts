// Connections over which nothing is said: the kernel asks from time to time whether the other side is still there (TCP keep-alive), since one that has vanished
// sends no FIN.
import type { Socket } from 'node:net';

/** Silence before the first question. Not the same for all: thousands of connections that were opened together would ask together, and questions get lost in a crowd. */
const firstMs = 45_000;
const spreadMs = 30_000;
/** Node's own one second, ten times, gives a peer up that was away for ten seconds. */
const intervalMs = 15_000;
const questions = 8;

/** As Node 26 has it; its types do not say so yet. */
type SetKeepAlive = (enable: boolean, initialDelay: number, interval: number, count: number) => void;

/** Notices within three minutes that the other side is gone. */
export function watchForSilentPeer(socket: Socket): void {
  const initialDelay = firstMs + Math.floor(Math.random() * spreadMs);
  (socket.setKeepAlive as SetKeepAlive).call(socket, true, initialDelay, intervalMs, questions);
}
