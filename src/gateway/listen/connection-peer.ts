// The addresses and TLS facts of a client connection, read once: a destroyed socket no longer has them.
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Addresses and TLS facts of one client connection, shared by all its exchanges. */
export interface ConnectionPeer {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
  readonly scheme: 'http' | 'https';
  readonly serverName: string | undefined;
  /** The authorities that validated the client's certificate; undefined: no certificate was required. */
  readonly validatedBy: string | undefined;
}

/** The part of every Exchange that only its connection decides. */
export class PeerFacts {
  readonly #peer: ConnectionPeer;

  constructor(peer: ConnectionPeer) {
    this.#peer = peer;
  }

  get scheme(): 'http' | 'https' {
    return this.#peer.scheme;
  }

  get remoteAddress(): string {
    return this.#peer.remoteAddress;
  }

  get remotePort(): number {
    return this.#peer.remotePort;
  }

  get localPort(): number {
    return this.#peer.localPort;
  }

  get serverName(): string | undefined {
    return this.#peer.serverName;
  }

  isClientValidatedBy(authorities: string): boolean {
    return this.#peer.validatedBy === authorities;
  }
}

// Beside the socket, which has no field for it.
const validated = new WeakMap<Socket, string>();

/** Records that the client presented a valid certificate. To be called before the connection is used. */
export function noteValidClient(socket: TLSSocket, authorities: string): void {
  validated.set(socket, authorities);
}

/** Reads the facts from an open socket. An IPv4 client of a dual-stack port has its IPv4 address, not the mapped one. */
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
