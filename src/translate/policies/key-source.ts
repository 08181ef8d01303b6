// jwks of a policy: where keys come from (RFC 7517). The same for MCP authentication and for JWT providers.
import { create } from '@bufbuild/protobuf';
import { fileIsForFiles, type Jwks } from '../../api/json-web-key-set.ts';
import { findKeySetProblem } from '../../api/key-set-text.ts';
import { type KeySource, KeyBackendSchema, KeySourceSchema } from '../../ir/gen/config_pb.ts';
import { convertToMilliseconds } from '../milliseconds.ts';
import type { PolicyReferences } from './policy-references.ts';

/** The message of a jwks; `field` is its path in the policy's field. */
export function createKeySource(jwks: Jwks, field: string, references: PolicyReferences): KeySource {
  const { url, inline, file, backendRef, path = '', allowInsecureHttp } = jwks;
  const keys = create(KeySourceSchema, {
    cacheDurationMs: convertToMilliseconds(jwks.cacheDuration),
    allowInsecureHttp: url !== undefined && allowInsecureHttp,
  });
  if (url !== undefined) keys.source = { case: 'url', value: url };
  // The source that read the file has put its text there. Objects of a cluster are refused before, by the schema.
  if (file !== undefined && (references.placement === 'pods' || inline === undefined))
    references.refuse(`${field}.file`, fileIsForFiles);
  if (inline !== undefined) {
    const problem = findKeySetProblem(inline);
    if (problem !== undefined) references.refuse(`${field}.${file === undefined ? 'inline' : 'file'}`, problem);
    keys.source = { case: 'inline', value: inline };
    keys.file = file ?? '';
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
