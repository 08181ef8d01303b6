// What can be profiled: the gateway under the load of a case, and something to count.
import type { BenchCase } from '../bench-case.ts';
import { type BenchSession, formatUrl } from '../bench-session.ts';
import { createBodyCases } from '../experiments/bodies.ts';
import { ourCases } from '../request-cases.ts';
import { otherCore, type RunningProxy } from '../start-proxy.ts';
import { startStreamSetup } from '../streams/stream-setup.ts';
import { startLoad, writeLoadScript } from '../wrk-load.ts';

/** A gateway with its load on it. */
export interface LoadedGateway {
  readonly gateway: RunningProxy;
  /** What its load is counted in. */
  readonly unit: 'request' | 'event';
  readonly count: () => Promise<number>;
}

/** Something to profile. */
export interface ProfiledCase {
  readonly name: string;
  /** Bytes that the upstream must be able to answer with. */
  readonly sizes: readonly number[];
  start(session: BenchSession, nodeFlags: readonly string[]): Promise<LoadedGateway>;
}

const bodySizes = { '10KB': 10_240, '1MB': 1_048_576 };
const directions = { upload: 'to the server', download: 'to the client' } as const;
const streams = 200;
const eventsPerSecond = 20_000;

/** All of them. */
export const profiledCases: readonly ProfiledCase[] = [
  ...ourCases.map((each) => profileRequests(each.name, each)),
  ...Object.entries(directions).flatMap(([direction, way]) =>
    Object.entries(bodySizes).map(([size, bytes]) => {
      const ours = createBodyCases(way, bytes).find(({ proxy }) => proxy.kind === 'gateway')!;
      return profileRequests(`${direction}-${size}`, ours, [bytes]);
    }),
  ),
  {
    name: 'busy-streams',
    sizes: [],
    async start(session, nodeFlags) {
      const { proxy, open, askSource, askReaders } = await startStreamSetup('gateway', session, nodeFlags);
      await open(streams);
      await askSource({ kind: 'send', eventsPerSecond });
      return { gateway: proxy, unit: 'event', count: async () => (await askReaders({ kind: 'state' })).events };
    },
  },
];

function profileRequests(name: string, each: BenchCase, sizes: readonly number[] = []): ProfiledCase {
  return {
    name,
    sizes,
    async start(session, nodeFlags) {
      const gateway = await session.start(each, nodeFlags);
      const script = await writeLoadScript(session.folder, name, gateway.request);
      const { wrk, taskset } = session.tools;
      const url = formatUrl(each, gateway);
      const { connections = 32 } = each;
      const load = session.keep(startLoad({ wrk, taskset, core: otherCore, url, script, connections }));
      return { gateway, unit: 'request', count: () => load.countRequests() };
    },
  };
}
