// jwks of a policy: where keys come from (RFC 7517). The same for MCP authentication and for JWT providers.
import { create } from '@bufbuild/protobuf';
import type { Jwks } from '../../api/json-web-key-set.ts';
import { type KeySource, KeyBackendSchema, KeySourceSchema } from '../../ir/gen/config_pb.ts';
import { convertToMilliseconds } from '../milliseconds.ts';
import type { PolicyReferences } from './policy-references.ts';

/** The message of a jwks; `field` is its path in the policy's field. */
export function createKeySource(jwks: Jwks, field: string, references: PolicyReferences): KeySource {
  const { url, inline, backendRef, path = '', allowInsecureHttp } = jwks;
  const keys = create(KeySourceSchema, {
    cacheDurationMs: convertToMilliseconds(jwks.cacheDuration),
    allowInsecureHttp: url !== undefined && allowInsecureHttp,
  });
  if (url !== undefined) keys.source = { case: 'url', value: url };
  if (inline !== undefined) {
    const problem = findKeySetProblem(inline);
    if (problem !== undefined) references.refuse(`${field}.inline`, problem);
    keys.source = { case: 'inline', value: inline };
  }
  if (backendRef !== undefined) {
    const backend = references.followService(`${field}.backendRef`, backendRef);
    keys.source = { case: 'backend', value: create(KeyBackendSchema, { backend, path }) };
  }
  return keys;
}

/** The key of the backend that keys are fetched from, where it is one of ours. */
export function listKeyBackends(keys: KeySource | undefined): readonly string[] {
  return keys?.source.case === 'backend' ? [keys.source.value.backend] : [];
}

// Checks the shape, and refuses private and symmetric keys. The gateway decides which public keys are usable.
function findKeySetProblem(text: string): string | undefined {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return 'is not valid JSON';
  }
  const keys: unknown = typeof document === 'object' && document !== null && 'keys' in document ? document.keys : [];
  if (!Array.isArray(keys) || keys.length === 0)
    return 'is not a key set; use a JSON object with a non-empty list `keys`';
  for (const [index, key] of (keys as readonly unknown[]).entries()) {
    const problem = findSecretProblem(key);
    if (problem !== undefined) return `keys[${index}] ${problem}`;
  }
  return undefined;
}

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth']; // RFC 7518 section 6

// Every reader of the policy could sign tokens with such a key.
function findSecretProblem(key: unknown): string | undefined {
  if (typeof key !== 'object' || key === null) return undefined;
  if (('kty' in key && key.kty === 'oct') || 'k' in key) return 'is a symmetric key; use a public key';
  const present = privateMembers.filter((member) => Object.hasOwn(key, member));
  return present.length === 0 ? undefined : `is a private key; paste the public one (without ${present.join(', ')})`;
}
