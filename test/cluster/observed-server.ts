// A program for containers of the harness's own tests: it tells what it sees from inside, and does what it is told.
import { lookup, Resolver } from 'node:dns/promises';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { healthService, numberServingStatus } from './grpc-health-service.ts';

const port = Number(process.env['PORT'] ?? '8080');
const healthPort = process.env['HEALTH_PORT'];
let [isReady, isAlive] = [process.env['READY'] !== 'false', true];

const held: ((value: unknown) => void)[] = [];

const answers: Readonly<Record<string, (query: URLSearchParams, request: IncomingMessage) => unknown>> = {
  '/self': () => ({
    arguments: process.argv.slice(2),
    user: process.getuid?.(),
    group: process.getgid?.(),
    groups: process.getgroups?.(),
    folder: process.cwd(),
    hostname: hostname(),
    pid: process.pid,
    status: readFileSync('/proc/self/status', 'utf8'),
  }),
  '/environment': () => process.env,
  '/read': (query) => {
    const path = query.get('path') ?? '';
    return {
      content: readFileSync(path, 'utf8'),
      mode: (statSync(path).mode & 0o777).toString(8),
      owner: statSync(path).uid,
    };
  },
  '/list': (query) => readdirSync(query.get('path') ?? ''),
  '/write': (query) => writeFileSync(query.get('path') ?? '', query.get('content') ?? ''),
  '/fetch': async (query) => {
    const answer = await fetch(query.get('url') ?? '', {
      // Rules apply to connections.
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(Number(query.get('timeout') ?? 30_000)),
    });
    return { status: answer.status, body: await answer.text() };
  },
  '/peer': (_, request) => request.socket.remoteAddress,
  '/lookup': async (query) => (await lookup(query.get('name') ?? '', { all: true })).map(({ address }) => address),
  '/resolve': (query) => new Resolver().resolve4(query.get('name') ?? ''),
  '/log': (query) => console.log(query.get('text')),
  '/slow': async (query) => {
    await sleep(Number(query.get('milliseconds')));
    return 'slept';
  },
  '/hold': () => new Promise((resolve) => held.push(resolve)),
  '/held': () => held.length,
  '/release': () => held.splice(0).forEach((resolve) => resolve('released')),
  '/set': (query) => {
    if (query.has('ready')) isReady = query.get('ready') === 'true';
    if (query.has('alive')) isAlive = query.get('alive') === 'true';
  },
  '/exit': (query) => setImmediate(() => process.exit(Number(query.get('code')))),
  '/ready': () => (isReady ? 'ready' : Promise.reject(new Error('not ready'))),
  '/alive': () => (isAlive ? 'alive' : Promise.reject(new Error('not alive'))),
};

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://observed');
  void (async () => {
    try {
      const value = await answers[pathname]?.(searchParams, request);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value ?? null));
    } catch (error) {
      const { code, cause } = error as NodeJS.ErrnoException;
      response
        .writeHead(500)
        .end(JSON.stringify({ error: String(error), code: code ?? (cause as { code?: string })?.code }));
    }
  })();
});
server.listen(port, () => console.log(`listening on ${port}`));

// The gRPC services `ready` and `alive`; of others nothing is known.
const healthServer = createHttp2Server(
  connectNodeAdapter({
    routes: (router) =>
      router.service(healthService, {
        check: ({ service }) => {
          const isWell = { ready: isReady, alive: isAlive }[service];
          if (isWell === undefined) {
            console.log(`asked about ${service}`);
            throw new ConnectError(`unknown service ${service}`, Code.NotFound);
          }
          return { status: numberServingStatus(isWell ? 'SERVING' : 'NOT_SERVING') };
        },
      }),
  }),
);
if (healthPort !== undefined) healthServer.listen(Number(healthPort));

process.on('SIGTERM', () => {
  console.log('SIGTERM');
  if (process.env['STUBBORN'] === 'true') return;
  server.close(() => {
    console.log('drained');
    process.exit(0);
  });
  server.closeIdleConnections();
});
