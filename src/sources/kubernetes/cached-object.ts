// One object of the cluster as the source holds it: parsed once per change of its content, with what was last seen of the rest.
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ParsedResource } from '../../api/parse-resource.ts';
import type { InvalidResource } from '../../api/resources.ts';
import type { KubernetesObject } from '../../kubernetes/client.ts';
import { validateResource } from '../validate.ts';
import { trimObject } from './trim-object.ts';
import type { WatchedKind } from './watched-kinds.ts';

/** What validation made of the content. The same object as before while the content is the same. */
export type Outcome =
  | { readonly state: 'valid'; readonly resource: ParsedResource['resource'] }
  | { readonly state: 'invalid'; readonly invalid: InvalidResource };

export interface CachedObject {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** Of kinds whose status is kept. */
  readonly status: unknown;
  /** Of the content. */
  readonly digest: string;
  readonly outcome: Outcome;
}

/** Takes an object in. `before`: what was known under this name, whose outcome counts on if its content is the same. */
export function cacheObject(
  watched: WatchedKind,
  object: KubernetesObject,
  before: CachedObject | undefined,
): CachedObject {
  const content = trimObject(watched.kind, object);
  const digest = hash('sha256', JSON.stringify(content), 'base64');
  const { uid = '', resourceVersion = '', generation = 0 } = object.metadata;
  const outcome = before?.digest === digest ? before.outcome : keepSame(before?.outcome, validate(content));
  return {
    uid,
    resourceVersion,
    generation,
    status: watched.keepsStatus ? object['status'] : undefined,
    digest,
    outcome,
  };
}

/** Different raw content may parse to the same resource. */
function keepSame(before: Outcome | undefined, now: Outcome): Outcome {
  return before !== undefined && isDeepStrictEqual(before, now) ? before : now;
}

function validate(content: unknown): Outcome {
  const result = validateResource(content, 'kubernetes');
  if (result.ok) return { state: 'valid', resource: result.resource.resource };
  const { identity, raw, problems } = result;
  return { state: 'invalid', invalid: { ...identity, raw, problems } };
}
