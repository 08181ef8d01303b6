// One address, and behind it whichever server the test names: a load balancer that takes the next step to another replica.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The switch. */
export interface TcpSwitch {
  readonly port: number;
  /** New connections go to this port; the old ones are cut. */
  pointTo(port: number): void;
  close(): Promise<void>;
}

/** Starts it on a free port. */
export async function startTcpSwitch(): Promise<TcpSwitch> {
  let target = 0;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = connect({ port: target, host: '127.0.0.1' });
    keep(client);
    keep(upstream);
    client.pipe(upstream);
    upstream.pipe(client);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    pointTo(port) {
      target = port;
      cutAll();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cutAll();
      }),
  };
}
