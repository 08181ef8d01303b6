// The key of an object within its kind. Keys sort as pairs of namespace and name do: a space comes before every character of a name.

/** `namespace name`; the namespace is empty for kinds that have none. */
export function formatObjectKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''} ${name}`;
}

/** The two parts of a key. */
export function splitObjectKey(key: string): { readonly namespace: string; readonly name: string } {
  const at = key.indexOf(' ');
  return { namespace: key.slice(0, at), name: key.slice(at + 1) };
}
