// The client against the real server, over a connection that breaks again and again: it ends up with what was published last, and on the way it never
// puts anything in force but what was published as a whole.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { silentLog } from '../../src/base/log.ts';
import { type Configuration, emptyConfiguration } from '../../src/ir/configuration.ts';
import type { Backend, Secret } from '../../src/ir/gen/config_pb.ts';
import { startXdsServer } from '../../src/xds/server.ts';
import { buildSnapshot } from '../../src/xds/snapshot.ts';
import { startBlackHole } from './xds-client-black-hole.ts';
import { backend, policy, secret, startClient } from './xds-client-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';
import { effort } from '../kit/effort.ts';

/** What a Gateway has: versions by name. Parts of one update differ together. */
const anyState = fc.record({
  secrets: fc.dictionary(fc.constantFrom('s1', 's2', 's3'), fc.nat(3), { maxKeys: 3 }),
  backends: fc.dictionary(fc.constantFrom('b1', 'b2', 'b3'), fc.integer({ min: 80, max: 83 }), { maxKeys: 3 }),
  policies: fc.dictionary(fc.constantFrom('n/p1/x/y', 'n/p2/x/y'), fc.constantFrom('r1', 'r2'), { maxKeys: 2 }),
});

function build(state: typeof anyState extends fc.Arbitrary<infer S> ? S : never): Configuration {
  return {
    ...emptyConfiguration,
    secrets: Object.entries(state.secrets).map(([name, value]) => secret(name, String(value)) as Secret),
    backends: Object.entries(state.backends).map(([name, port]) => backend(name, port) as Backend),
    policies: Object.entries(state.policies).map(([name, route]) => policy(name, route)),
  };
}

describe('a client and a server', () => {
  test('converge, whatever happens to their connection', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ state: anyState, cuts: fc.boolean(), pauseMs: fc.nat(8), isBad: fc.boolean() }), {
          minLength: 1,
          maxLength: 10,
        }),
        async (steps) => {
          const server = await startXdsServer({
            log: silentLog,
            address: '127.0.0.1',
            port: 0,
            authorizeGateway: () => Promise.resolve({ allowed: true }),
            authorizeReplica: () => Promise.resolve({ allowed: true }),
            observer: {
              streamOpened() {},
              streamClosed() {},
              refused() {},
              pushed() {},
              acknowledged() {},
              rejected() {},
            },
          });
          const way = await startBlackHole(server.port);
          const tested = startClient(way.url);
          try {
            const published = new Map<string, Configuration>();
            let digest = '';
            for (const { state, cuts, pauseMs, isBad } of steps) {
              const snapshot = buildSnapshot(build(state));
              ({ digest } = snapshot);
              published.set(digest, build(state));
              tested.problems = isBad ? [{ list: 'backends', key: 'b1', message: 'no' }] : [];
              server.setSnapshot('n/g', snapshot);
              await new Promise((resolve) => setTimeout(resolve, pauseMs));
              if (cuts) way.cut();
            }
            const settle = (): Promise<true> =>
              waitFor('it is settled', () => server.connected.get().some(({ settled }) => settled === digest));
            await settle();
            const digestOf = (configuration: Configuration): string => buildSnapshot(configuration).digest;
            assert.equal(digestOf(tested.applied.at(-1)!), digest);

            // What cannot be used now is known to the server, however it came to be so.
            const last = build(steps.at(-1)!.state);
            const { isBad } = steps[0]!;
            tested.problems = isBad ? [{ list: 'backends', key: 'b1', message: 'no' }] : [];
            const final = buildSnapshot({ ...last, secrets: [...last.secrets, secret('final', 'x') as Secret] });
            ({ digest } = final);
            published.set(digest, last);
            server.setSnapshot('n/g', final);
            await settle();
            assert.deepEqual(
              server.connected.get().flatMap(({ rejections }) => rejections.map(({ name }) => name)),
              isBad && last.backends.some(({ key }) => key === 'b1') ? ['b1'] : [],
            );
            for (const applied of tested.applied) assert.ok(published.has(digestOf(applied)), 'half of an update');
          } finally {
            await tested.client.close();
            await way.close();
            await server.close();
          }
        },
      ),
      { numRuns: effort(25, 6) },
    );
  });
});
