// Whether the files of the xDS certificate can be used: tls.crt and tls.key belong together, ca.crt signed them, they are for our name and valid now.
// Gateways would refuse anything else, one by one and far away from whoever made the mistake.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** The content of the files, PEM; undefined: it is not there. */
export interface CertificateFiles {
  readonly certificateChain: string | undefined;
  readonly privateKey: string | undefined;
  readonly ca: string | undefined;
}

/** A certificate that gateways take. */
export interface UsableCertificate {
  readonly certificateChain: string;
  readonly privateKey: string;
  readonly ca: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export type CertificateCheck =
  | { readonly ok: true; readonly certificate: UsableCertificate }
  /** In words for the operator; it has nothing of the key in it. */
  | { readonly ok: false; readonly problem: string };

/** Checks the files at a time, for a server name. */
export function checkCertificate(files: CertificateFiles, serverName: string, now: number): CertificateCheck {
  const { certificateChain, privateKey, ca } = files;
  if (certificateChain === undefined || privateKey === undefined || ca === undefined) {
    const missing = [
      ...(certificateChain === undefined ? ['tls.crt'] : []),
      ...(privateKey === undefined ? ['tls.key'] : []),
      ...(ca === undefined ? ['ca.crt'] : []),
    ];
    return refuse(`${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing`);
  }
  const chain = readCertificates(certificateChain);
  if (chain === undefined) return refuse('tls.crt has no certificate in PEM form that can be read');
  const authorities = readCertificates(ca);
  if (authorities === undefined) return refuse('ca.crt has no certificate in PEM form that can be read');
  const [leaf] = chain as [X509Certificate];
  try {
    if (!leaf.checkPrivateKey(createPrivateKey(privateKey))) return refuse('tls.key is not the key of tls.crt');
    createSecureContext({ cert: certificateChain, key: privateKey });
  } catch {
    // What OpenSSL says about keys helps nobody, and may say too much.
    return refuse('tls.key has no private key in PEM form that can be used');
  }
  const expiresAt = leaf.validToDate.getTime();
  if (expiresAt <= now) return refuse(`tls.crt has expired: it was valid until ${leaf.validToDate.toISOString()}`);
  if (leaf.validFromDate.getTime() > now)
    return refuse(`tls.crt is not valid yet: it will be from ${leaf.validFromDate.toISOString()}`);
  if (leaf.checkHost(serverName) === undefined)
    return refuse(`tls.crt is not for ${serverName}, which is where gateways look for the controller`);
  if (!isSigned(leaf, chain.slice(1), authorities)) return refuse('ca.crt did not sign tls.crt');
  return { ok: true, certificate: { certificateChain, privateKey, ca, expiresAt } };
}

function refuse(problem: string): CertificateCheck {
  return { ok: false, problem };
}

/** The certificates of a PEM text; undefined: there is none, or one of them cannot be read. */
function readCertificates(text: string): readonly X509Certificate[] | undefined {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.length === 0 ? undefined : blocks.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** Whether a way leads from the certificate to one of the authorities. */
function isSigned(
  leaf: X509Certificate,
  intermediates: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean {
  const open = [leaf];
  const seen = new Set<string>();
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    const child = current;
    if (seen.has(child.fingerprint256)) continue;
    seen.add(child.fingerprint256);
    if (
      authorities.some((authority) => authority.fingerprint256 === child.fingerprint256 || isIssuer(authority, child))
    )
      return true;
    open.push(...intermediates.filter((intermediate) => isIssuer(intermediate, child)));
  }
  return false;
}

function isIssuer(issuer: X509Certificate, child: X509Certificate): boolean {
  return child.checkIssued(issuer) && child.verify(issuer.publicKey);
}
