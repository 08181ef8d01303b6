// The Secrets with xDS certificates: the one that serves, and the copy of the last good one. Both are in the installation namespace.
import { createHash } from 'node:crypto';
import { managedBy, managedByLabel } from '../deploy/deployed-names.ts';
import type { KubernetesObject } from '../kubernetes/client.ts';
import type { CertificateFiles, UsableCertificate } from './check-certificate.ts';

/** The Secret with the certificate: the user's, or the controller's own (keep-certificate.ts). */
export const certificateSecretName = 'proxy-xds-cert';
/** The Secret with the copy of the last good certificate. */
export const copySecretName = 'proxy-xds-cert-last-good';

const copyLabel = 'gateway.proxy/certificate-copy';
/** A digest of the certificates that the controller put into the Secret. With another content it is somebody else's, and is not touched. */
const madeAnnotation = 'gateway.proxy/generated-certificate';

/** The entries of a Secret as text; undefined: it is not there. */
function readEntry(secret: KubernetesObject, key: string): string | undefined {
  const data = secret['data'] as Readonly<Record<string, string>> | undefined;
  const value = data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined;
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

/** The files of a Secret. */
export function readCertificateFiles(secret: KubernetesObject): CertificateFiles {
  return {
    certificateChain: readEntry(secret, 'tls.crt'),
    privateKey: readEntry(secret, 'tls.key'),
    ca: readEntry(secret, 'ca.crt'),
  };
}

/** The next certificate of a Secret that the controller made, beside the one in use; its authority is in ca.crt already. */
export function readNextFiles(secret: KubernetesObject): CertificateFiles {
  return {
    certificateChain: readEntry(secret, 'next.crt'),
    privateKey: readEntry(secret, 'next.key'),
    ca: readEntry(secret, 'ca.crt'),
  };
}

type PemCertificate = Pick<UsableCertificate, 'certificateChain' | 'privateKey' | 'ca'>;

/** The copy of a certificate; `seen`: it replaces this object. */
export function renderCopy(
  certificate: PemCertificate,
  namespace: string,
  seen: KubernetesObject | undefined,
): KubernetesObject {
  return {
    ...renderHead(copySecretName, namespace, seen, { labels: { [copyLabel]: 'true' } }),
    data: encodeEntries({
      'tls.crt': certificate.certificateChain,
      'tls.key': certificate.privateKey,
      'ca.crt': certificate.ca,
    }),
  };
}

/** Whether a Secret is a copy of ours, not somebody else's Secret of the same name. */
export function isCopy({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[copyLabel] === 'true' && metadata.labels[managedByLabel] === managedBy;
}

/** The Secret with a certificate that the controller made, and perhaps the next one; `seen`: it replaces this object. */
export function renderMadeCertificate(
  certificate: PemCertificate,
  namespace: string,
  seen: KubernetesObject | undefined,
  next?: Pick<UsableCertificate, 'certificateChain' | 'privateKey'>,
): KubernetesObject {
  const digest = digestCertificates(certificate.certificateChain, certificate.ca);
  return {
    ...renderHead(certificateSecretName, namespace, seen, { annotations: { [madeAnnotation]: digest } }),
    data: encodeEntries({
      'tls.crt': certificate.certificateChain,
      'tls.key': certificate.privateKey,
      'ca.crt': certificate.ca,
      ...(next !== undefined && { 'next.crt': next.certificateChain, 'next.key': next.privateKey }),
    }),
  };
}

/** Whether the controller made the certificates of this Secret, as they are now. */
export function isMadeByController(secret: KubernetesObject): boolean {
  const { certificateChain, ca } = readCertificateFiles(secret);
  const digest = secret.metadata.annotations?.[madeAnnotation];
  return certificateChain !== undefined && ca !== undefined && digest === digestCertificates(certificateChain, ca);
}

function digestCertificates(certificateChain: string, ca: string): string {
  return createHash('sha256')
    .update(JSON.stringify([certificateChain, ca]))
    .digest('hex');
}

function renderHead(
  name: string,
  namespace: string,
  seen: KubernetesObject | undefined,
  marks: { readonly labels?: Record<string, string>; readonly annotations?: Record<string, string> },
): KubernetesObject {
  const { resourceVersion, uid, labels, annotations } = seen?.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace,
      // Preconditions of the replacement.
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(uid !== undefined && { uid }),
      labels: { ...labels, [managedByLabel]: managedBy, ...marks.labels },
      annotations: { ...annotations, ...marks.annotations },
    },
    type: 'kubernetes.io/tls',
  };
}

function encodeEntries(entries: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(entries).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')]),
  );
}
