// Loaded before a server that knows only a port: makes it listen on 127.0.0.1 alone and reports the port that it got.
import { type AddressInfo, Server } from 'node:net';

type Listen = (this: Server, ...args: unknown[]) => Server;

const listen = Reflect.get(Server.prototype, 'listen') as Listen;

Reflect.set(Server.prototype, 'listen', function listenOnLoopback(this: Server, ...args: unknown[]): Server {
  const callback = args.findLast((argument) => typeof argument === 'function');
  this.once('listening', () => process.send?.({ port: (this.address() as AddressInfo).port }));
  const options = { host: '127.0.0.1', port: Number(args[0] ?? 0) };
  return listen.call(this, ...(callback === undefined ? [options] : [options, callback]));
});

// Nobody is left to stop it when the test is gone.
process.on('disconnect', () => process.exit(0));
