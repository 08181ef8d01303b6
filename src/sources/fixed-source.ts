// Resources that a command made itself: the short form and the demo. They never change.
import { Watchable } from '../base/watchable.ts';
import { type Resources } from '../api/resources.ts';
import { formatFieldPath } from '../api/problem.ts';
import { collectResources } from './resource-snapshot.ts';
import type { ResourceSource, SourceProblem } from './resource-source.ts';
import { validateResource } from './validate.ts';

/** A generated resource is invalid: a bug, not a mistake of the user. */
export class FixedResourceError extends Error {
  readonly code = 'invalid_fixed_resource';
}

/** A source of these resources. Throws a FixedResourceError when one of them is wrong. */
export function createFixedSource(raw: readonly object[]): ResourceSource {
  const entries = raw.map((object) => {
    const result = validateResource(object, 'file');
    if (!result.ok) {
      const texts = result.problems.map(({ path, message }) => `${formatFieldPath(path)}: ${message}`);
      throw new FixedResourceError(`${result.identity.kind} ${result.identity.name}: ${texts.join('; ')}`);
    }
    return { state: 'valid' as const, identity: result.identity, resource: result.resource, place: undefined };
  });
  const resources = new Watchable<Resources>(collectResources(entries).resources);
  const problems = new Watchable<readonly SourceProblem[]>([]);
  return { resources, problems, start: async () => ({ ok: true }), stop: async () => {}, locate: () => undefined };
}
