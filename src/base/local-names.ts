// Names and addresses that stay on this machine or in its cluster.
import { isIP } from 'node:net';

/** Names that mean this machine, whatever DNS says about them (RFC 6761 6.3). */
export function isLoopbackName(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/.test(hostname);
}

/** An IP address in 127.0.0.0/8, also when it is written inside an IPv6 address, or ::1. */
export function isLoopbackAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return address.startsWith('127.');
  if (version !== 6) return false;
  const normal = URL.parse(`http://[${address}]`)?.hostname;
  // ::ffff:127.x.y.z, whose last 32 bits a URL writes as two hexadecimal groups.
  return normal === '[::1]' || (normal !== undefined && /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(normal));
}

/** localhost, *.localhost, 127.0.0.0/8 and ::1, as URL parsers write them. */
export function isLoopbackHost(hostname: string): boolean {
  if (isLoopbackName(hostname)) return true;
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  return isLoopbackAddress(name.startsWith('[') ? name.slice(1, -1) : name);
}

/** Names that a cluster resolves for itself. */
export function isClusterName(hostname: string): boolean {
  return /^[^.].*\.svc(?:\.cluster\.local)?\.?$/.test(hostname);
}

/** Names that no public DNS has: single labels, and domains that are reserved for internal networks (RFC 6761, RFC 6762, RFC 8375, `.internal`). */
export function isInternalName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  return (
    !name.includes('.') || isClusterName(name) || /\.(?:localhost|local|internal|home\.arpa|lan|corp|home)$/.test(name)
  );
}
