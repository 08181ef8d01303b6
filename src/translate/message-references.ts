// The keys that routes and backends refer to: a gateway that gets such a message needs these too. Each kind of policy lists its own references.
import type { Backend, Filter, Route, Upstream } from '../ir/gen/config_pb.ts';

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
    case 'federation':
      return kind.value.targets.flatMap(({ server }) => listTrustAnchors(server?.upstream));
    case 'inference':
      return [...listTrustAnchors(kind.value.upstream), ...listTrustAnchors(kind.value.picker?.upstream)];
    case undefined:
      return [];
  }
}

function listTrustAnchors(upstream: Upstream | undefined): readonly string[] {
  const ca = upstream?.tls?.ca ?? '';
  return ca === '' ? [] : [ca];
}
