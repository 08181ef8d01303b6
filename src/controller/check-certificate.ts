// Checks the files of the xDS certificate: tls.key matches tls.crt, ca.crt signed it, it is for our server name and valid now. Gateways would refuse
// anything else, and their logs are far from the operator who made the mistake.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** The content of the files, PEM; undefined: the file does not exist. */
export interface CertificateFiles {
  readonly certificateChain: string | undefined;
  readonly privateKey: string | undefined;
  readonly ca: string | undefined;
}

/** A certificate that gateways accept. */
export interface UsableCertificate {
  readonly certificateChain: string;
  readonly privateKey: string;
  readonly ca: string;
  /** Milliseconds since 1970, as is `expiresAt`. */
  readonly validFrom: number;
  readonly expiresAt: number;
}

/** What became of a check. */
export type CertificateCheck =
  | { readonly ok: true; readonly certificate: UsableCertificate }
  /** For the operator; contains nothing of the key. */
  | { readonly ok: false; readonly problem: string };

/** Checks the files for a server name; `now` in milliseconds since 1970. */
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
  if (chain === undefined) return refuse('tls.crt holds no readable PEM certificate');
  const authorities = readCertificates(ca);
  if (authorities === undefined) return refuse('ca.crt holds no readable PEM certificate');
  const [leaf] = chain as [X509Certificate];
  try {
    if (!leaf.checkPrivateKey(createPrivateKey(privateKey))) return refuse('tls.key does not match tls.crt');
    createSecureContext({ cert: certificateChain, key: privateKey });
  } catch {
    // OpenSSL's own message about a key does not help the operator, and may reveal too much.
    return refuse('tls.key holds no usable PEM private key');
  }
  const expiresAt = leaf.validToDate.getTime();
  if (expiresAt <= now) return refuse(`tls.crt has expired: it was valid until ${leaf.validToDate.toISOString()}`);
  if (leaf.validFromDate.getTime() > now)
    return refuse(`tls.crt is not valid before ${leaf.validFromDate.toISOString()}`);
  if (leaf.checkHost(serverName) === undefined)
    return refuse(`tls.crt is not for ${serverName}, the name under which gateways connect to the controller`);
  if (!isSigned(leaf, chain.slice(1), authorities)) return refuse('ca.crt did not sign tls.crt');
  const validFrom = leaf.validFromDate.getTime();
  return { ok: true, certificate: { certificateChain, privateKey, ca, validFrom, expiresAt } };
}

function refuse(problem: string): CertificateCheck {
  return { ok: false, problem };
}

/** The PEM blocks of certificates in a text. */
export function splitCertificates(text: string): readonly string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}

/** Whether two certificates, with their keys and authorities, are the same. */
export function equalCertificates(left: UsableCertificate | undefined, right: UsableCertificate | undefined): boolean {
  return (
    left?.certificateChain === right?.certificateChain &&
    left?.privateKey === right?.privateKey &&
    left?.ca === right?.ca
  );
}

/** The certificates of a PEM text; undefined: there is none, or one of them cannot be read. */
function readCertificates(text: string): readonly X509Certificate[] | undefined {
  const blocks = splitCertificates(text);
  try {
    return blocks.length === 0 ? undefined : blocks.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** Whether a chain leads from the certificate to one of the authorities. */
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
