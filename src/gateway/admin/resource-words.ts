// Values of messages as operators write them in resources: durations, references, and absent where a message has an empty value.
import type { YamlValue } from './format-yaml.ts';

/** The API group of a kind of target. */
export function findGroup(kind: string): string {
  return kind === 'ProxyBackend' ? proxyGroup : 'gateway.networking.k8s.io';
}

const proxyGroup = 'gateway.proxy';

/** Messages have an empty text where a resource has none. */
export function textOrNone(text: string): string | undefined {
  return text === '' ? undefined : text;
}

/** The same for lists. */
export function listOrNone<T extends YamlValue>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** "Secret/default/tls" as a reference from a namespace; the last part of a longer key is an entry or a port. */
export function readReference(key: string, from: string): { readonly [name: string]: YamlValue } {
  const [kind = '', namespace = '', name = '', entry] = key.split('/');
  return {
    ...(kind === 'ProxyBackend' ? { group: proxyGroup } : {}),
    kind,
    namespace: namespace === from ? undefined : namespace,
    name,
    ...(entry === undefined ? {} : kind === 'Service' ? { port: Number(entry) } : { key: entry }),
  };
}
