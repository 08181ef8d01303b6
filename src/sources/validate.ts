// Raw object -> parsed resource, or what is wrong with it and the best guess at which resource it was meant to be.
// The guess matters: a policy with a typo in its kind must not look as if the policy had been deleted.
import { isKind, kindNames, kinds, kindsNotSupportedYet, type Extension, type KindDefinition } from '../api/kinds.ts';
import { findNearestName } from '../base/nearest-name.ts';
import type { Origin } from '../api/origin.ts';
import { parseResource, type ParsedResource } from '../api/parse-resource.ts';
import type { Problem } from '../api/problem.ts';
import type { ResourceIdentity } from './resource-source.ts';

/** A resource that is good, or what is wrong with it. */
export type ValidationResult =
  | { readonly ok: true; readonly identity: ResourceIdentity; readonly resource: ParsedResource }
  | {
      readonly ok: false;
      /** Parts that could not be told are empty. */
      readonly identity: ResourceIdentity;
      /** The kind as it was written, right or wrong. */
      readonly writtenKind: string | undefined;
      readonly problems: readonly Problem[];
      /** As read, without what may be secret. */
      readonly raw: unknown;
    };

/** Validates one resource. Never throws, whatever it is given. Kinds of other extensions are refused; of none when `extensions` is absent. */
export function validateResource(raw: unknown, origin: Origin, extensions?: readonly Extension[]): ValidationResult {
  const parsed = parseResource(raw, { origin, extensions });
  if (parsed.ok) {
    const { name, namespace } = parsed.resource.metadata;
    const identity = { kind: parsed.kind, namespace: kinds[parsed.kind].namespaced ? (namespace ?? '') : '', name };
    return { ok: true, identity, resource: parsed };
  }
  const kind = guessKind(raw);
  const definition: KindDefinition | undefined = isKind(kind) ? kinds[kind] : undefined;
  const namespace = definition?.namespaced === false ? '' : (parsed.namespace ?? 'default');
  return {
    ok: false,
    identity: { kind, namespace, name: parsed.name ?? '' },
    writtenKind: parsed.kind,
    problems: parsed.problems,
    raw: hideSecrets(raw, kind),
  };
}

/** What a resource with a wrong or missing kind was meant to be. What may be a policy counts as one, so that it fails closed. */
function guessKind(raw: unknown): string {
  const written = readMember(raw, 'kind');
  const spec = readMember(raw, 'spec');
  const looksLikePolicy =
    readMember(spec, 'targetRefs') !== undefined || readMember(spec, 'targetSelectors') !== undefined;
  if (typeof written !== 'string') return looksLikePolicy ? 'ProxyPolicy' : '';
  if (isKind(written) || Object.hasOwn(kindsNotSupportedYet, written)) return written;
  const nearest = findNearestName(written, kindNames);
  if (nearest !== undefined) return nearest;
  const apiVersion = readMember(raw, 'apiVersion');
  const isOurs = typeof apiVersion === 'string' && apiVersion.startsWith(`${kinds.ProxyPolicy.group}/`);
  return looksLikePolicy || isOurs ? 'ProxyPolicy' : written;
}

/** Only a policy's targets are ever read from a bad resource; the values of what is, or might be, a Secret go no further than here. */
function hideSecrets(raw: unknown, kind: string): unknown {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return undefined;
  if (kind === 'Secret' || kind === '') return { kind: readMember(raw, 'kind'), metadata: readMember(raw, 'metadata') };
  return Object.fromEntries(Object.entries(raw).filter(([key]) => !/^(?:string)?data$/i.test(key)));
}

function readMember(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
