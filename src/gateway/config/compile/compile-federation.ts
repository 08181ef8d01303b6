// A federation message -> its targets, each compiled as a backend of its own, and what clients see of them.
import { createHash } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import { version } from '../../../base/version.ts';
import {
  type Backend,
  BackendSchema,
  type FederatedServerInfo as ServerInfoMessage,
  type FederatedTarget,
  type FederationBackend,
  type ItemSelection,
  NamePrefix,
  TargetFailureMode,
  UpstreamSchema,
} from '../../../ir/gen/config_pb.ts';
import { findAmbiguity } from '../../mcp/read/ambiguous-uri.ts';
import { listSpellings } from '../../mcp/read/resource-spellings.ts';
import {
  type FederatedSelection,
  type FederatedServerInfo,
  type FederationConfig,
  type FederationTarget,
  formatTargetKey,
} from '../federation-config.ts';
import type { BackendConfig } from '../runtime-config.ts';
import { BackendError } from './backend-error.ts';
import { compileNamePatterns } from './name-patterns.ts';

/** Compiles a backend with one MCP target. */
type CompileTarget = (target: Backend) => BackendConfig;

/** Compiles a federation, or throws: then none of its targets is served. */
export function compileFederation(
  backend: Backend,
  message: FederationBackend,
  compileTarget: CompileTarget,
): BackendConfig {
  const targets = message.targets.map((target) => readTarget(backend.key, message, target, compileTarget));
  if (targets.length === 0) throw new BackendError('the federation has no targets');
  requireUnique('name', targets);
  requireUnique('prefix', targets);
  const naming = readNaming(message.namePrefix);
  const federation: FederationConfig = { targets, naming, serverInfo: readServerInfo(message.serverInfo) };
  const digest = createHash('sha256').update(toBinary(BackendSchema, backend));
  // Trust anchors are no part of the message.
  for (const { backend: config } of targets) digest.update(config.fingerprint);
  return {
    key: backend.key,
    fingerprint: digest.digest('base64url'),
    endpoints: [],
    tls: undefined,
    protocol: 'http1',
    // Time limits are those of each target.
    connectTimeoutMs: 0,
    requestTimeoutMs: 0,
    idleTimeoutMs: 0,
    hostHeader: '',
    // To the forwarder it is a server at `/` that keeps its sessions itself.
    mcp: { target: '', path: '/', transport: 'streamable-http', sessionRouting: 'stateless' },
    picker: undefined,
    federation,
  };
}

function readTarget(
  key: string,
  { sessionRouting }: FederationBackend,
  target: FederatedTarget,
  compileTarget: CompileTarget,
): FederationTarget {
  const { server, prefix, failure } = target;
  if (server === undefined || server.name === '') throw new BackendError('a target of the federation has no name');
  const { name } = server;
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(prefix))
    throw new BackendError(`the prefix ${JSON.stringify(prefix)} of target ${name} is not one`);
  if ((failure === undefined) === (server.upstream === undefined))
    throw new BackendError(`target ${name} must have either an upstream or a failure`);
  // Only what connections depend on: they are kept when anything else about the target changes.
  const alone = create(BackendSchema, {
    key: formatTargetKey(key, name),
    kind: {
      case: 'mcp',
      value: { targets: [{ ...server, upstream: server.upstream ?? create(UpstreamSchema) }], sessionRouting },
    },
  });
  return {
    name,
    prefix,
    failsClosed: readFailureMode(target.failureMode, name),
    backend: compileTarget(alone),
    selects: compileSelection(target),
    ...(failure !== undefined && { unusable: failure.message }),
  };
}

function requireUnique(member: 'name' | 'prefix', targets: readonly FederationTarget[]): void {
  const seen = new Set<string>();
  for (const target of targets) {
    if (seen.has(target[member])) throw new BackendError(`two targets have the ${member} ${target[member]}`);
    seen.add(target[member]);
  }
}

function readServerInfo(message: ServerInfoMessage | undefined): FederatedServerInfo {
  if (message === undefined || message.name === '') throw new BackendError('the federation has no name');
  return {
    name: message.name,
    title: message.title === '' ? undefined : message.title,
    version: message.version === '' ? version : message.version,
    instructions: message.instructions === '' ? undefined : message.instructions,
  };
}

// An enum may carry a number that this version does not know; a guess could serve something that was not configured.
function readNaming(prefix: NamePrefix): FederationConfig['naming'] {
  switch (prefix) {
    case NamePrefix.UNSPECIFIED:
    case NamePrefix.ALWAYS:
      return 'always';
    case NamePrefix.NEVER:
      return 'never';
    default:
      throw new BackendError(`the naming ${String(prefix)} of the federation is not known`);
  }
}

function readFailureMode(mode: TargetFailureMode, target: string): boolean {
  switch (mode) {
    case TargetFailureMode.UNSPECIFIED:
    case TargetFailureMode.FAIL_OPEN:
      return false;
    case TargetFailureMode.FAIL_CLOSED:
      return true;
    default:
      throw new BackendError(`the failure mode ${String(mode)} of target ${target} is not known`);
  }
}

function compileSelection({ tools, prompts, resources }: FederatedTarget): FederatedSelection {
  return { tool: compileNames(tools), prompt: compileNames(prompts), resource: compileUris(resources) };
}

function compileNames(selection: ItemSelection | undefined): (name: string) => boolean {
  if (selection === undefined) return () => true;
  const { include, exclude } = selection;
  const isIncluded = include.length === 0 ? () => true : compileNamePatterns(include);
  const isExcluded = compileNamePatterns(exclude);
  return (name) => isIncluded(name) && !isExcluded(name);
}

/** A server may look for a URI under another spelling: all of them must be served, and there must be one way to read it. */
function compileUris(selection: ItemSelection | undefined): (uri: string) => boolean {
  if (selection === undefined) return () => true;
  const selects = compileNames(selection);
  return (uri) => findAmbiguity(uri) === undefined && listSpellings(uri).every((spelling) => selects(spelling));
}
