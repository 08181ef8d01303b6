// A way between a gateway and its controller that can swallow everything without a word, as a broken network does.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface BlackHole {
  readonly url: string;
  /** From now on nothing gets through, in either direction, and nobody is told. */
  swallow(): void;
  letThrough(): void;
  /** Breaks every connection that there is now. */
  cut(): void;
  close(): Promise<void>;
}

/** Passes on to a port on loopback. */
export async function startBlackHole(port: number): Promise<BlackHole> {
  let isSwallowing = false;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((client) => {
    keep(client);
    // What a connection swallowed is lost to it for good.
    let isLost = isSwallowing;
    const upstream = keep(connect(port, '127.0.0.1'));
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (chunk) => {
        isLost ||= isSwallowing;
        if (!isLost) to.write(chunk);
      });
      from.on('close', () => {
        if (!isLost) to.destroy();
      });
    };
    pass(client, upstream);
    pass(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    swallow: () => void (isSwallowing = true),
    letThrough: () => void (isSwallowing = false),
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
