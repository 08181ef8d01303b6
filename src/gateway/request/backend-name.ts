// Display names of backends.

/** "ProxyBackend/default/tickets" is a key; people read "ProxyBackend default/tickets" and "Service default/web:80". */
export function formatBackendName(key: string): string {
  const [kind, namespace, name, port] = key.split('/');
  return name === undefined ? key : `${kind} ${namespace}/${name}${port === undefined ? '' : `:${port}`}`;
}
