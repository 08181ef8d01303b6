// Certificates, trust anchors and credentials: read from Secrets and ConfigMaps, parsed, and checked to belong together.
// Expiry is not judged here: there is no clock, and a certificate that has just expired must not change the configuration.
import { isUtf8 } from 'node:buffer';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { type CaCertificateReference, caCertificateEntry } from '../api/certificate-reference.ts';
import { readConfigMapEntry } from '../api/config-map.ts';
import type { SecretObjectReference } from '../api/object-reference.ts';
import { readSecretEntry } from '../api/secret.ts';
import { type Secret as SecretMessage, SecretSchema } from '../ir/gen/config_pb.ts';
import { formatSecretEntryKey, formatSecretKey } from '../ir/resource-keys.ts';
import type { Derived, Memory } from './memory.ts';
import { describeMissingGrant, isReferencePermitted, type Referrer } from './references.ts';
import { type ResourceIndex, describeAbsence } from './resource-index.ts';

/** The message, or why there is none. */
export type SecretResolution =
  | { readonly found: true; readonly secret: SecretMessage }
  | { readonly found: false; readonly permitted: boolean; readonly message: string };

/** Reads Secrets and ConfigMaps; each of them once, however many refer to it. */
export interface Secrets {
  /** The certificate chain and key that a listener's certificateRef names. */
  readonly resolveCertificate: (from: Referrer, reference: SecretObjectReference) => SecretResolution;
  /** The trust anchors that a caCertificateRef names, in the namespace of what refers to them. */
  readonly resolveCaCertificates: (namespace: string, reference: CaCertificateReference) => SecretResolution;
  /** The same, in any namespace that grants it. */
  readonly resolveAuthorities: (
    from: Referrer,
    reference: CaCertificateReference & { readonly namespace: string },
  ) => SecretResolution;
  /** One entry of a Secret as text: a client secret, an initial access token. */
  readonly resolveEntry: (namespace: string, reference: SecretEntryReference) => SecretResolution;
}

/** Prepares the lookup of Secrets and ConfigMaps. */
export function prepareSecrets(memory: Memory, index: ResourceIndex): Secrets {
  const certificates = deriveByParts(memory, (namespace, name) => readCertificate(index, namespace, name));
  const caCertificates = deriveByParts(memory, (namespace, name, kind) =>
    readCaCertificates(index, namespace, { kind: kind === 'ConfigMap' ? kind : 'Secret', name }),
  );
  const entries = deriveByParts(memory, (namespace, name, key) => readEntry(index, namespace, { name, key }));
  return {
    resolveCertificate(from, reference) {
      const to = { ...reference, namespace: reference.namespace ?? from.namespace };
      if (to.group !== '' || to.kind !== 'Secret')
        return refuse(`${describeKind(to)} is not a Secret; certificates must be in Secrets`);
      if (!isReferencePermitted(index, from, to))
        return { found: false, permitted: false, message: describeMissingGrant(from, to) };
      return certificates.get(formatParts(to.namespace, to.name));
    },
    resolveCaCertificates: (namespace, { kind, name }) => caCertificates.get(formatParts(namespace, name, kind)),
    resolveAuthorities(from, { kind, name, namespace }) {
      const to = { group: '', kind, name, namespace };
      if (!isReferencePermitted(index, from, to))
        return { found: false, permitted: false, message: describeMissingGrant(from, to) };
      return caCertificates.get(formatParts(namespace, name, kind));
    },
    resolveEntry: (namespace, { name, key }) => entries.get(formatParts(namespace, name, key)),
  };
}

function formatParts(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

function deriveByParts(
  memory: Memory,
  read: (namespace: string, name: string, rest: string) => SecretResolution,
): Derived<SecretResolution> {
  return memory.derive((key) => {
    const [namespace = '', name = '', rest = ''] = JSON.parse(key) as string[];
    return read(namespace, name, rest);
  });
}

function readCertificate(index: ResourceIndex, namespace: string, ownName: string): SecretResolution {
  const name = `${namespace}/${ownName}`;
  const secret = index.secrets.get(name);
  if (secret === undefined) return refuse(`Secret ${name} ${describeAbsence(index, 'Secret', namespace, ownName)}`);
  const certificate = readText(readSecretEntry(secret, 'tls.crt'));
  const key = readText(readSecretEntry(secret, 'tls.key'));
  if (certificate === undefined) return refuse(`Secret ${name} has no tls.crt`);
  if (key === undefined) return refuse(`Secret ${name} has no tls.key`);
  const problem = checkKeyPair(certificate, key);
  if (problem !== undefined) return refuse(`Secret ${name}: ${problem}`);
  return {
    found: true,
    secret: create(SecretSchema, {
      key: formatSecretKey('Secret', namespace, ownName),
      value: { case: 'tls', value: { certificateChain: certificate, privateKey: key } },
    }),
  };
}

function readCaCertificates(
  index: ResourceIndex,
  namespace: string,
  reference: CaCertificateReference,
): SecretResolution {
  const { kind } = reference;
  const name = `${namespace}/${reference.name}`;
  const object = kind === 'ConfigMap' ? index.configMaps.get(name) : index.secrets.get(name);
  if (object === undefined) return refuse(`${kind} ${name} ${describeAbsence(index, kind, namespace, reference.name)}`);
  const pem = readText(
    object.kind === 'ConfigMap'
      ? readConfigMapEntry(object, caCertificateEntry)
      : readSecretEntry(object, caCertificateEntry),
  );
  if (pem === undefined) return refuse(`${kind} ${name} has no ${caCertificateEntry}`);
  if (parseCertificates(pem) === undefined)
    return refuse(`${kind} ${name}: ${caCertificateEntry} holds no readable PEM certificate`);
  return {
    found: true,
    // The entry is part of the key: a Secret of cert-manager holds a certificate and a CA, and may be used for both.
    secret: create(SecretSchema, {
      key: `${formatSecretKey(kind, namespace, reference.name)}/${caCertificateEntry}`,
      value: { case: 'caCertificates', value: pem },
    }),
  };
}

/** A reference to one entry of a Secret of the same namespace. */
export interface SecretEntryReference {
  readonly name: string;
  readonly key: string;
}

function readEntry(index: ResourceIndex, namespace: string, reference: SecretEntryReference): SecretResolution {
  const name = `${namespace}/${reference.name}`;
  const secret = index.secrets.get(name);
  if (secret === undefined)
    return refuse(`Secret ${name} ${describeAbsence(index, 'Secret', namespace, reference.name)}`);
  const bytes = readSecretEntry(secret, reference.key);
  if (bytes === undefined) return refuse(`Secret ${name} has no entry ${reference.key}`);
  // `echo secret > file` appends a line feed, which is not part of the secret.
  const text = Buffer.from(bytes)
    .toString('utf8')
    .replace(/\r?\n$/, '');
  if (text === '') return refuse(`Secret ${name}: the entry ${reference.key} is empty`);
  if (!isUtf8(bytes) || controlCharacter.test(text))
    return refuse(`Secret ${name}: the entry ${reference.key} has control characters; remove them`);
  return {
    found: true,
    secret: create(SecretSchema, {
      key: formatSecretEntryKey(namespace, reference.name, reference.key),
      value: { case: 'text', value: text },
    }),
  };
}

// eslint-disable-next-line no-control-regex
const controlCharacter = /[\0-\x1f\x7f]/;

function readText(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined || bytes.length === 0 ? undefined : Buffer.from(bytes).toString('utf8');
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function parseCertificates(pem: string): readonly X509Certificate[] | undefined {
  const blocks = pem.match(pemCertificate);
  if (blocks === null) return undefined;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

function checkKeyPair(certificate: string, key: string): string | undefined {
  const [leaf] = parseCertificates(certificate) ?? [];
  if (leaf === undefined) return 'tls.crt holds no readable PEM certificate';
  try {
    const matches = leaf.checkPrivateKey(createPrivateKey(key));
    return matches ? undefined : 'tls.key does not belong to the first certificate of tls.crt';
  } catch {
    return 'tls.key holds no readable PEM private key without a passphrase';
  }
}

function describeKind(reference: SecretObjectReference): string {
  return `${reference.group === '' ? '' : `${reference.group}/`}${reference.kind} ${reference.name}`;
}

function refuse(message: string): SecretResolution {
  return { found: false, permitted: true, message };
}
