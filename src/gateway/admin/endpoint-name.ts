// Endpoints as people write them.

/** "10.0.0.1:80", "[fd00::1]:80". */
export function formatEndpointName({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
