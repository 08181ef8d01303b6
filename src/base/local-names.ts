// Names that stay on this machine or in its cluster.

/** Names that mean this machine, whatever DNS says about them (RFC 6761 6.3). */
export function isLoopbackName(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/.test(hostname);
}

/** Names that a cluster resolves for itself. */
export function isClusterName(hostname: string): boolean {
  return /^[^.].*\.svc(?:\.cluster\.local)?\.?$/.test(hostname);
}
