// Proxies with event streams through them: a source behind each, readers in front.
import { waitFor } from '../../kit/wait-for.ts';
import { createResources, jwtPolicy, toolCall } from '../bench-resources.ts';
import type { BenchProxy } from '../bench-case.ts';
import type { BenchSession } from '../bench-session.ts';
import { configureEnvoy } from '../peers/envoy-configuration.ts';
import { configureNginx } from '../peers/nginx-configuration.ts';
import { otherCore, type RunningProxy, startProxy } from '../start-proxy.ts';
import type { ReaderRequest, ReaderState } from './event-readers.ts';
import type { SourceRequest, SourceState } from './event-source.ts';
import { type PinnedWorker, startPinnedWorker } from './pinned-worker.ts';

/** Ours checks the token of each stream, and so does Envoy. */
export const streamProxies: Readonly<Record<'gateway' | 'nginx' | 'envoy', BenchProxy>> = {
  gateway: {
    kind: 'gateway',
    // A server that says nothing for longer than five minutes has to be allowed to.
    resources: (ports) => createResources([jwtPolicy], ports, { timeouts: { idle: '0s' } }),
    flags: ['--max-connections', '40000', '--max-upstream-requests', '40000', '--drain-timeout', '1s'],
  },
  nginx: { kind: 'nginx', configure: (ports) => configureNginx(ports, { streams: true }) },
  envoy: { kind: 'envoy', configure: (ports) => configureEnvoy(ports, { jwt: { cache: true } }) },
};

/** A proxy between a source and readers. */
export interface StreamSetup {
  readonly proxy: RunningProxy;
  readonly askSource: (request: SourceRequest) => Promise<SourceState>;
  readonly askReaders: (request: ReaderRequest) => Promise<ReaderState>;
  /** Opens so many streams, and resolves when each has had an event. */
  readonly open: (count: number) => Promise<void>;
  /** Closes all, and resolves when the source knows. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts all three. */
export async function startStreamSetup(
  name: keyof typeof streamProxies,
  { tools, folder, accessLog, keep }: BenchSession,
  nodeFlags: readonly string[] = [],
): Promise<StreamSetup> {
  const worker = (file: string): PinnedWorker =>
    keep(startPinnedWorker({ taskset: tools.taskset, core: otherCore, program: new URL(file, import.meta.url) }));
  const source = worker('event-source.ts');
  const readers = worker('event-readers.ts');
  const askSource = (request: SourceRequest): Promise<SourceState> => source.ask<SourceState>(request);
  const { port: upstreamPort } = await askSource({ kind: 'state' });
  const options = { tools, folder, accessLog, upstreamPort, nodeFlags };
  const proxy = keep(await startProxy(name, streamProxies[name], options));
  const askReaders = async (request: ReaderRequest): Promise<ReaderState> => {
    const state = await readers.ask<ReaderState>(request);
    if (state.problem !== undefined) throw new Error(`${name}: ${state.problem}\n${proxy.readErrors()}`);
    return state;
  };
  const { authorization } = toolCall.headers;
  const headers = [`host: 127.0.0.1:${proxy.port}`, 'accept: text/event-stream', `authorization: ${authorization}`];
  const head = `GET /mcp HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`;
  return {
    proxy,
    askSource,
    askReaders,
    async open(count) {
      await askReaders({ kind: 'open', port: proxy.port, count, head });
    },
    async close() {
      await askReaders({ kind: 'close' });
      const areClosed = async (): Promise<boolean> => (await askSource({ kind: 'state' })).streams === 0;
      await waitFor('all streams are closed', areClosed, { intervalMs: 0 });
    },
    async stop() {
      await readers.stop();
      await proxy.stop();
      await source.stop();
    },
  };
}
