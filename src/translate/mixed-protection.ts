// Rules whose backends are protected in different ways; no condition reports them. A client has one token for one path, so the gateway serves the
// first of them and refuses the others.
import { PolicyTargetKind, type Policy } from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../ir/resource-keys.ts';
import { type Notice, collectNotices } from './notices.ts';
import type { TranslatedRoute } from './routes.ts';

/** Lists the rules that mix policies, and those that mix protected backends with open ones. */
export function listMixedProtection(
  routes: readonly TranslatedRoute[],
  policies: readonly Policy[],
): readonly Notice[] {
  const branching = routes.filter(({ messages }) => messages.some(({ backends }) => backends.length > 1));
  if (branching.length === 0) return [];
  const sources = new Map<string, string>();
  for (const { source, spec, target } of policies)
    if (spec.case === 'mcpAuthentication' && target?.kind === PolicyTargetKind.PROXY_BACKEND)
      sources.set(formatProxyBackendKey(target.namespace, target.name), source);
  if (sources.size === 0) return [];
  const notices = collectNotices();
  for (const { name, messages } of branching) {
    const route = { metadata: splitName(name) };
    for (const { ruleIndex, backends } of messages) {
      const reached = backends.filter(({ backend, weight }) => backend !== '' && weight > 0);
      const [first, ...others] = reached.filter(({ backend }) => sources.has(backend));
      if (first === undefined) continue;
      const decides = sources.get(first.backend);
      for (const { backend } of others)
        if (sources.get(backend) !== decides)
          notices.add(
            'HTTPRoute',
            route,
            `rules[${ruleIndex}]: ProxyPolicy ${decides} protects its path, so requests to ${backend}, which ${sources.get(backend)} protects, are answered with 500`,
          );
      for (const { backend } of reached)
        if (!sources.has(backend))
          notices.add(
            'HTTPRoute',
            route,
            `rules[${ruleIndex}]: ${backend} accepts requests without a login, but ${first.backend} in the same rule does not; protect both or neither`,
          );
    }
  }
  return notices.list();
}

function splitName(name: string): { readonly namespace: string; readonly name: string } {
  const slash = name.indexOf('/');
  return { namespace: name.slice(0, slash), name: name.slice(slash + 1) };
}
