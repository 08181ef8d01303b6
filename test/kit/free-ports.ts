// Ports for processes that must be told theirs before they listen, and that may be away for a while. Nobody else gets them as long as this process runs: they
// are not among those that systems hand out themselves, to whoever asks for any port or connects somewhere; and other tests see that they are taken.
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that Linux (32768), macOS and Windows (49152) hand out, and below those of Services of Kubernetes (30000). */
const [first, last] = [20_000, 29_999];
const host = '127.0.0.1';
const mostTries = 1_000;

/** Finds loopback ports that are free, and keeps them from other tests. `choose`: what to try next. */
export async function findFreePorts(count: number, choose = chooseAny): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries += 1) {
    if (tries === mostTries) throw new Error(`no free port from ${first} to ${last} in ${mostTries} tries`);
    const port = choose();
    // In this order: who looks whether a port is free takes it for a moment, and somebody who has claimed it may be about to listen.
    if ((await claim(port)) && (await isFree(port))) ports.push(port);
  }
  return ports;
}

function chooseAny(): number {
  return randomInt(first, last + 1);
}

/** A claim is the UDP port of that number, which nobody here uses: it can be held while others listen on the TCP port, and ends with this process. */
async function claim(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  try {
    socket.bind({ address: host, port, exclusive: true });
    await once(socket, 'listening');
    socket.unref();
    return true;
  } catch {
    socket.close();
    return false;
  }
}

/** On all addresses: gateways listen on some, and on all of them. */
async function isFree(port: number): Promise<boolean> {
  for (const address of [{ host }, {}]) {
    const server = createServer();
    try {
      server.listen({ port, ...address, exclusive: true });
      await once(server, 'listening');
    } catch {
      return false;
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }
  return true;
}
