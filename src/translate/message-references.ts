// What messages refer to, by key: whoever gets a message needs these too.
import type { Backend, Filter, KeySource, Policy, Route, Upstream } from '../ir/gen/config_pb.ts';

/** The keys of the backends that a route sends to or mirrors to. */
export function listBackends({ backends, filters }: Route): readonly string[] {
  const keys: string[] = [];
  addMirrors(keys, filters);
  for (const target of backends) {
    if (target.backend !== '') keys.push(target.backend);
    addMirrors(keys, target.filters);
  }
  return keys;
}

function addMirrors(keys: string[], filters: readonly Filter[]): void {
  for (const { filter } of filters) if (filter.case === 'requestMirror') keys.push(filter.value.backend);
}

/** The keys of the secrets that a backend needs: trust anchors. */
export function listBackendSecrets({ kind }: Backend): readonly string[] {
  switch (kind.case) {
    case 'http':
      return listTrustAnchors(kind.value);
    case 'mcp':
      return kind.value.targets.flatMap(({ upstream }) => listTrustAnchors(upstream));
    case 'inference':
      return [...listTrustAnchors(kind.value.upstream), ...listTrustAnchors(kind.value.picker?.upstream)];
    case undefined:
      return [];
  }
}

function listTrustAnchors(upstream: Upstream | undefined): readonly string[] {
  return listSet([upstream?.tls?.ca]);
}

/** Keys of secrets and of backends. */
export interface PolicyReferences {
  readonly secrets: readonly string[];
  /** Where keys are fetched from. */
  readonly backends: readonly string[];
}

const nothing: PolicyReferences = { secrets: [], backends: [] };

const known = new WeakMap<Policy, PolicyReferences>();

/** What a policy needs beside its target. */
export function listPolicyReferences(policy: Policy): PolicyReferences {
  let references = known.get(policy);
  if (references === undefined) known.set(policy, (references = readPolicyReferences(policy)));
  return references;
}

function readPolicyReferences({ spec }: Policy): PolicyReferences {
  switch (spec.case) {
    case 'jwtAuthentication': {
      const { providers } = spec.value;
      return {
        secrets: listSet(providers.map(({ ca }) => ca)),
        backends: providers.flatMap(({ keys }) => listKeyBackends(keys)),
      };
    }
    case 'mcpAuthentication': {
      const { ca, keys, registration } = spec.value;
      const { initialAccessToken, clientSecret, initialAccessTokenFrom } = registration ?? {};
      return {
        secrets: listSet([ca, initialAccessToken, clientSecret, initialAccessTokenFrom?.clientSecret]),
        backends: listKeyBackends(keys),
      };
    }
    case 'failure':
    case 'cors':
    case 'authorization':
    case 'mcpAuthorization':
    case undefined:
      return nothing;
  }
}

function listKeyBackends(keys: KeySource | undefined): readonly string[] {
  return keys?.source.case === 'backend' ? [keys.source.value.backend] : [];
}

function listSet(keys: readonly (string | undefined)[]): readonly string[] {
  return keys.filter((key) => key !== undefined && key !== '') as readonly string[];
}
