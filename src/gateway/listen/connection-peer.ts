// Who is on the other side of a connection, read once: a destroyed socket no longer knows.
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Addresses and TLS facts of one client connection, shared by all its exchanges. */
export interface ConnectionPeer {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
  readonly scheme: 'http' | 'https';
  readonly serverName: string | undefined;
  /** The authorities that the client's certificate was validated by, where it had to have one. */
  readonly validatedBy: string | undefined;
}

// A socket has no place for what we know of it.
const validated = new WeakMap<Socket, string>();

/** Notes that the client of a connection has shown a valid certificate. Before the connection is used. */
export function noteValidClient(socket: TLSSocket, authorities: string): void {
  validated.set(socket, authorities);
}

/** Reads the facts off an open socket. An IPv4 client of a dual-stack port has its IPv4 address, not the mapped one. */
export function describePeer(socket: Socket): ConnectionPeer {
  const address = socket.remoteAddress ?? '';
  const isSecure = isTlsSocket(socket);
  const serverName: unknown = isSecure ? socket.servername : undefined;
  return {
    remoteAddress: address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address,
    remotePort: socket.remotePort ?? 0,
    localPort: socket.localPort ?? 0,
    scheme: isSecure ? 'https' : 'http',
    serverName: typeof serverName === 'string' && serverName !== '' ? serverName : undefined,
    validatedBy: validated.get(socket),
  };
}

function isTlsSocket(socket: Socket): socket is TLSSocket {
  return 'encrypted' in socket && socket.encrypted === true;
}
