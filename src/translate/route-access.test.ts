// What statuses say about requests without a token is what the gateway does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { compile, type PolicyConnections } from '../gateway/config/compile/compile.ts';
import type { RuntimeConfig } from '../gateway/config/runtime-config.ts';
import type { Configuration } from '../ir/configuration.ts';
import { effort } from '../../test/kit/effort.ts';
import { inferenceTranslation } from './inference-translation.ts';
import { listOpenRules } from './route-access.ts';
import { arbitraryResources } from './testdata/arbitrary-resources.ts';
import { translate } from './translate.ts';
import { denyUnprotected } from './unprotected-routes.ts';

const connections = {
  acquireAuthentication: (input: object) => input,
  acquireJwtAuthentication: (input: object) => ({ ...input, claimHeaders: new Set() }),
} as unknown as PolicyConnections;

/** The rules that are closed because nothing protects them, with their listeners. */
function listClosed({ ports }: RuntimeConfig): readonly string[] {
  const closed = new Set<string>();
  for (const { listeners } of ports.values())
    for (const [, listener] of listeners.entries())
      for (const [, table] of listener.routes.entries())
        for (const { route } of table.entries)
          if (route.closedByDefault !== undefined && route.failure === undefined)
            closed.add(`${route.key} at ${listener.key}`);
  return [...closed].toSorted();
}

/** Rules with something that only the gateway finds unusable, and answers an error for. */
function listUnusable({ ports }: RuntimeConfig): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { listeners } of ports.values())
    for (const [, listener] of listeners.entries())
      for (const [, table] of listener.routes.entries())
        for (const { route } of table.entries)
          if (
            (route.failure ?? route.policies.failure) !== undefined ||
            route.backends.entries.some(({ failure, policies }) => (failure ?? policies.failure) !== undefined)
          )
            found.add(`${route.key} at ${listener.key}`);
  return found;
}

function listByMessages(configuration: Configuration, runtime: RuntimeConfig): readonly string[] {
  const known = new Set<string>();
  // Listeners on one port of a host can hide each other.
  for (const { listeners } of runtime.ports.values()) for (const [, { key }] of listeners.entries()) known.add(key);
  const open = listOpenRules(configuration).filter(({ isPublic, listener }) => !isPublic && known.has(listener));
  return [...new Set(open.map(({ route, listener }) => `${route} at ${listener}`))].toSorted();
}

test('the controller and the gateway find the same rules', { timeout: 60_000 }, () => {
  let found = 0;
  fc.assert(
    fc.property(arbitraryResources, (resources) => {
      const { configuration } = translate(resources, { inference: inferenceTranslation });
      const { runtime } = compile(denyUnprotected(configuration), undefined, connections);
      const closed = listClosed(runtime);
      found += closed.length;
      const unusable = listUnusable(runtime);
      const isJudged = (rule: string): boolean => !unusable.has(rule);
      assert.deepEqual(listByMessages(configuration, runtime).filter(isJudged), closed.filter(isJudged));
    }),
    { numRuns: effort(1_000, 60) },
  );
  assert.ok(found > 0);
});
