// Server certificates (RFC 5280, RFC 6066 3): from PEM to TLS contexts, and the choice of a listener's certificate by server name.
import type { ServerHandshake } from '../runtime-config.ts';
import { constants, createHash, X509Certificate } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { getTls } from '../../../base/node-parts.ts';
import type { TlsCertificate } from '../../../ir/gen/config_pb.ts';
import { type HostTable, readHostname, readHostnamePattern } from '../../route/table/hostname.ts';
import type { ClientValidation } from './client-validation.ts';
import type { TakeoverCache } from './takeover-cache.ts';

/** A certificate chain and its key that belong together, ready for handshakes. */
export interface ServerCertificate extends ServerHandshake {
  /** DNS names of the certificate, as hostname patterns, in a stable order. */
  readonly names: readonly string[];
}

/** The certificate cannot be served. */
export class CertificateError extends Error {
  readonly code = 'invalid_certificate';

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'CertificateError';
  }
}

/** Certificates by their content: creating a TLS context is expensive, and a reload of the same certificate should be free. */
export type CertificateCache = TakeoverCache<ServerCertificate>;

/** Reads chain and key, or throws a CertificateError that names the problem and reveals nothing of the key. */
export function readServerCertificate(
  message: TlsCertificate,
  validation: ClientValidation | undefined,
  cache: CertificateCache,
): ServerCertificate {
  const { certificateChain, privateKey } = message;
  const { authorities = '', isRequired = false } = validation ?? {};
  const content = [certificateChain, privateKey, authorities, String(isRequired)].join('\0');
  const key = createHash('sha256').update(content).digest('base64url');
  return cache.get(key, () => {
    let leaf: X509Certificate;
    try {
      leaf = new X509Certificate(certificateChain);
    } catch (error) {
      throw new CertificateError('the certificate chain is not PEM', error);
    }
    return {
      names: readNames(leaf),
      context: createContext(certificateChain, privateKey, validation),
      asksClients: validation !== undefined,
      clientAuthorities: validation?.isRequired === true ? validation.digest : undefined,
    };
  });
}

function createContext(cert: string, key: string, validation: ClientValidation | undefined): SecureContext {
  try {
    return getTls().createSecureContext({
      cert,
      key,
      minVersion: 'TLSv1.2',
      ...(validation !== undefined && {
        // Optional certificates are not validated at all: Node aborts connections on which OpenSSL has met a forged signature.
        ca: validation.isRequired ? validation.authorities : [],
        // A resumed session carries no client certificate, so every handshake has to be a full one.
        secureOptions: constants.SSL_OP_NO_TICKET,
      }),
    });
  } catch (error) {
    const isMismatch = error instanceof Error && 'code' in error && String(error.code).includes('MISMATCH');
    throw new CertificateError(
      isMismatch
        ? 'the private key does not belong to the certificate'
        : 'the certificate chain or the private key cannot be read',
      error,
    );
  }
}

function readNames(leaf: X509Certificate): string[] {
  const names = new Set<string>();
  for (const [, name] of (leaf.subjectAltName ?? '').matchAll(/(?:^|, )DNS:([^,"\s]+)/g)) addName(names, name!);
  if (names.size === 0) {
    // Old certificates have only a common name. Browsers no longer accept it; choosing between certificates by it does no harm.
    const commonName = /^CN=(\S+)$/m.exec(leaf.subject);
    if (commonName !== null) addName(names, commonName[1]!);
  }
  return [...names].toSorted();
}

function addName(names: Set<string>, name: string): void {
  const pattern = readHostnamePattern(name);
  if (pattern !== undefined && pattern !== '') names.add(pattern);
}

/** Chooses between the certificates of one listener. */
export interface ListenerCertificates {
  /** For a client that sent no server name. */
  readonly first: ServerHandshake;
  select(serverName: string): ServerHandshake;
}

/**
 * Arranges the certificates of one listener. A handshake gets the certificate that matches the server name best, else the first. Of two
 * with the same name the first wins: Node installs one certificate per handshake, before it knows which keys the client supports.
 * `reportUnused` gets the position of each certificate that can never be chosen.
 */
export function arrangeCertificates(
  certificates: readonly [ServerCertificate, ...ServerCertificate[]],
  reportUnused: (index: number) => void,
): ListenerCertificates {
  const byName = new Map<string, ServerCertificate>();
  for (const [index, certificate] of certificates.entries()) {
    const free = certificate.names.filter((name) => !byName.has(name));
    for (const name of free) byName.set(name, certificate);
    if (index > 0 && free.length === 0) reportUnused(index);
  }
  const [first] = certificates;
  return {
    first,
    select: (serverName) => {
      // A wildcard in a certificate stands for exactly one label (RFC 9525 6.3), unlike one in a listener's hostname.
      const dot = serverName.indexOf('.');
      return byName.get(serverName) ?? (dot === -1 ? undefined : byName.get(`*${serverName.slice(dot)}`)) ?? first;
    },
  };
}

/**
 * Chooses the certificate of a handshake on one port. Only the listener with the most specific hostname is considered, so a
 * listener without a usable certificate (undefined) refuses its names instead of leaving them to a wider listener.
 * A name without a listener is refused. Without a server name the listener for any hostname answers; without such a listener the
 * handshake is refused too: no other listener could serve the request that follows.
 */
export function createCertificateSelector(
  listeners: HostTable<{ readonly certificates: ListenerCertificates | undefined }>,
): (serverName: string | undefined) => ServerHandshake | undefined {
  return (serverName) => {
    if (serverName === undefined || serverName === '') return listeners.any?.certificates?.first;
    const hostname = readHostname(serverName);
    return hostname === undefined ? undefined : listeners.find(hostname)?.certificates?.select(hostname);
  };
}
