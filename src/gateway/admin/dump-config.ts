// The configuration in force as JSON, for /config: without credentials and keys.
import { X509Certificate } from 'node:crypto';
import { type JsonValue, toJson } from '@bufbuild/protobuf';
import { isJsonObject, readJsonObject } from '../../base/json-object.ts';
import { isSecretName, redactText, redactValue } from '../../base/redact.ts';
import type { Configuration } from '../../ir/configuration.ts';
import type { RuntimeConfig } from '../config/runtime-config.ts';
import { describeAuthentications } from './describe-authentications.ts';
import type { DescribedFederation } from './describe-federations.ts';
import { describeJwtAuthentications } from './describe-jwt-authentications.ts';
import { BackendSchema, ListenerSchema, PolicySchema, RouteSchema, type Secret } from '../../ir/gen/config_pb.ts';

const redacted = '[redacted]';

/** What is shown of a certificate. */
interface CertificateSummary {
  readonly subject: string;
  readonly issuer: string;
  readonly subjectAltName: readonly string[];
  readonly notBefore: string;
  readonly notAfter: string;
  readonly sha256: string;
}

/** Messages as protobuf JSON; secrets as summaries of their certificates; what became of MCP and JWT authentication, and how the servers of federations are. */
export function dumpConfig(
  configuration: Configuration,
  runtime: RuntimeConfig,
  federations: readonly DescribedFederation[] = [],
): Record<string, unknown> {
  return {
    version: runtime.version,
    authentications: describeAuthentications(runtime),
    jwtAuthentications: describeJwtAuthentications(runtime),
    federations,
    listeners: configuration.listeners.map((message) => redactNamedValues(toJson(ListenerSchema, message))),
    routes: configuration.routes.map((message) => redactNamedValues(toJson(RouteSchema, message))),
    backends: configuration.backends.map((message) => redactNamedValues(toJson(BackendSchema, message))),
    policies: configuration.policies.map((message) => redactNamedValues(toJson(PolicySchema, message))),
    secrets: configuration.secrets.map((secret) => summariseSecret(secret)),
  };
}

/** A Secret message without its key material. */
export function summariseSecret(secret: Secret): Record<string, unknown> {
  switch (secret.value.case) {
    case 'tls':
      return {
        key: secret.key,
        tls: { certificates: summariseCertificates(secret.value.value.certificateChain), privateKey: redacted },
      };
    case 'caCertificates':
      return { key: secret.key, caCertificates: summariseCertificates(secret.value.value) };
    case 'text':
      return { key: secret.key, text: redacted };
    case 'sealKeys':
      return { key: secret.key, sealKeys: { count: secret.value.value.keys.length } };
    case 'signingKeys':
      return {
        key: secret.key,
        signingKeys: { kids: secret.value.value.keys.map(({ kid }) => kid), active: secret.value.value.active },
      };
    default:
      return { key: secret.key };
  }
}

/** The certificates of a PEM text, in its order; one that cannot be read is named as such. */
export function summariseCertificates(pem: string): (CertificateSummary | { readonly problem: string })[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => {
    try {
      return summariseCertificate(new X509Certificate(block));
    } catch {
      return { problem: 'the certificate cannot be parsed' };
    }
  });
}

function summariseCertificate(certificate: X509Certificate): CertificateSummary {
  return {
    subject: certificate.subject.replaceAll('\n', ', '),
    issuer: certificate.issuer.replaceAll('\n', ', '),
    subjectAltName: certificate.subjectAltName?.split(', ') ?? [],
    notBefore: certificate.validFromDate.toISOString(),
    notAfter: certificate.validToDate.toISOString(),
    sha256: certificate.fingerprint256,
  };
}

/**
 * Headers that filters set and that matches compare can be credentials: {name: authorization, value: ...}; so can parameters that a policy
 * adds to a login: {client_secret: ...}. Members of messages have names in camel case; those are references to Secrets, not values.
 * Of key sets in a policy only what tells the keys apart is shown: a private key may have been pasted there.
 */
export function redactNamedValues(value: JsonValue): JsonValue {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redactNamedValues);
  if (typeof value !== 'object' || value === null) return value;
  const { name } = value;
  const hidesValue = typeof name === 'string' && isSecretName(name) && value['value'] !== undefined;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (hidesValue && key === 'value') return [key, redacted];
      if (key === 'inline') return [key, summariseKeySet(member)];
      if (key === 'extraParameters') return [key, redactValue(member) as JsonValue];
      return [key, redactNamedValues(member)];
    }),
  );
}

const shownKeyMembers = ['kty', 'kid', 'use', 'alg', 'crv'];

function summariseKeySet(text: JsonValue): JsonValue {
  const document = typeof text === 'string' ? readJsonObject(text) : undefined;
  const keys = document?.ok === true ? document.value.keys : undefined;
  if (!Array.isArray(keys)) return redacted;
  return (keys as readonly unknown[]).map((key) =>
    isJsonObject(key)
      ? Object.fromEntries(
          shownKeyMembers.flatMap((name) => (typeof key[name] === 'string' ? [[name, redactText(key[name])]] : [])),
        )
      : redacted,
  );
}
