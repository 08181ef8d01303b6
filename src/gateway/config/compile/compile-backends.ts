// Backend messages -> what the upstream pools and the forwarder use.
import { createHash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import {
  type Backend,
  BackendSchema,
  type EndpointPicker,
  EndpointPickerSchema,
  type McpBackend,
  McpTransport,
  PickerFailureMode,
  type Secret,
  SessionRouting,
  type Upstream,
  UpstreamProtocol,
  type UpstreamTls,
} from '../../../ir/gen/config_pb.ts';
import { readTarget } from '../../http/request-target.ts';
import { BackendError } from './backend-error.ts';
import { compileFederation } from './compile-federation.ts';
import { describeError, type ReportProblem } from './compile-problem.ts';
import { readCaCertificates } from './read-ca-certificates.ts';
import { areReadsStillValid, type Lookup, ReadRecorder, type Reads } from './recorded-reads.ts';
import type { BackendConfig } from '../runtime-config.ts';
import type { BackendTls, McpConfig, PickerConfig } from '../server-config.ts';

/** The timeout unless an annotation of the pool sets another one. */
const defaultPickerTimeoutMs = 10_000;

/** The outcome of compiling one message, and the secrets it depends on. */
interface BackendMemo {
  readonly reads: Reads<Secret>;
  /** A string is the reason why the backend cannot be used. */
  readonly outcome: BackendConfig | string;
}

/** All backends of a configuration. */
export interface CompiledBackends {
  readonly configs: ReadonlyMap<string, BackendConfig>;
  /** For the next compilation. */
  readonly memos: ReadonlyMap<Backend, BackendMemo>;
}

/**
 * Compiles backends. A backend that cannot be compiled is reported and left out: rules that refer to it answer 500. An unchanged
 * backend is the same object as before, and an unchanged message is not compiled again.
 */
export function compileBackends(
  backends: readonly Backend[],
  secrets: Lookup<Secret>,
  previous: CompiledBackends | undefined,
  report: ReportProblem,
): CompiledBackends {
  const configs = new Map<string, BackendConfig>();
  const memos = new Map<Backend, BackendMemo>();
  const recorder = new ReadRecorder(secrets);
  for (const backend of backends) {
    let memo = previous?.memos.get(backend);
    if (memo === undefined || !areReadsStillValid(memo.reads, secrets)) {
      const outcome = tryBackend(backend, recorder);
      memo = { outcome, reads: recorder.take() };
    }
    memos.set(backend, memo);
    const { outcome } = memo;
    if (typeof outcome === 'string') {
      report(backend.key, outcome);
    } else {
      const before = previous?.configs.get(outcome.key);
      configs.set(outcome.key, before?.fingerprint === outcome.fingerprint ? before : outcome);
    }
  }
  return { configs, memos };
}

function tryBackend(backend: Backend, secrets: Lookup<Secret>): BackendConfig | string {
  try {
    return compileBackend(backend, secrets);
  } catch (error) {
    return describeError(error);
  }
}

function compileBackend(backend: Backend, secrets: Lookup<Secret>): BackendConfig {
  if (backend.kind.case === 'federation') {
    const { value } = backend.kind;
    return compileFederation(backend, value, (target) => compileBackend(target, secrets));
  }
  const { upstream, mcp, picker } = readKind(backend);
  const tls = upstream.tls === undefined ? undefined : compileTls(upstream.tls, secrets);
  const compiledPicker = picker === undefined ? undefined : compilePicker(picker, secrets);
  return {
    key: backend.key,
    fingerprint: createHash('sha256')
      .update(toBinary(BackendSchema, backend))
      .update(tls?.ca ?? '')
      .update(compiledPicker?.tls?.ca ?? '')
      .digest('base64url'),
    endpoints: readEndpoints(upstream),
    tls,
    protocol: readProtocol(upstream.protocol),
    connectTimeoutMs: upstream.connectTimeoutMs,
    requestTimeoutMs: upstream.requestTimeoutMs,
    idleTimeoutMs: upstream.idleTimeoutMs,
    hostHeader: upstream.hostHeader,
    mcp,
    picker: compiledPicker,
  };
}

function readEndpoints({ endpoints }: Upstream): BackendConfig['endpoints'] {
  return endpoints.map(({ host, port }) => {
    if (host === '' || port < 1 || port > 65_535)
      throw new BackendError(`the endpoint ${JSON.stringify(host)} with port ${port} is not an address`);
    return { host, port };
  });
}

interface BackendParts {
  readonly upstream: Upstream;
  readonly mcp: McpConfig | undefined;
  readonly picker: EndpointPicker | undefined;
}

function readKind({ kind }: Backend): BackendParts {
  switch (kind.case) {
    case 'http':
      return { upstream: kind.value, mcp: undefined, picker: undefined };
    case 'mcp':
      return readMcp(kind.value);
    case 'inference': {
      const { upstream, picker } = kind.value;
      if (upstream === undefined) throw new BackendError('the inference pool has no endpoints');
      if (picker?.upstream === undefined) throw new BackendError('the inference pool has no endpoint picker');
      return { upstream, mcp: undefined, picker };
    }
    default:
      throw new BackendError('this gateway does not support the kind of the backend');
  }
}

function readMcp({ targets, sessionRouting }: McpBackend): BackendParts {
  const [target] = targets;
  if (target?.upstream === undefined) throw new BackendError('the MCP backend has no target');
  if (targets.length > 1) throw new BackendError(`the MCP backend has ${targets.length} targets, but is no federation`);
  return {
    upstream: target.upstream,
    mcp: {
      target: target.name,
      path: readMcpPath(target.path),
      transport: readTransport(target.transport),
      sessionRouting: readSessionRouting(sessionRouting),
    },
    picker: undefined,
  };
}

function compilePicker(picker: EndpointPicker, secrets: Lookup<Secret>): PickerConfig {
  const upstream = picker.upstream!;
  const tls = upstream.tls === undefined ? undefined : compileTls(upstream.tls, secrets);
  return {
    fingerprint: createHash('sha256')
      .update(toBinary(EndpointPickerSchema, picker))
      .update(tls?.ca ?? '')
      .digest('base64url'),
    endpoints: readEndpoints(upstream),
    tls,
    connectTimeoutMs: upstream.connectTimeoutMs,
    failsOpen: readFailureMode(picker.failureMode),
    timeoutMs: picker.timeoutMs === 0 ? defaultPickerTimeoutMs : picker.timeoutMs,
  };
}

function readFailureMode(mode: PickerFailureMode): boolean {
  switch (mode) {
    case PickerFailureMode.UNSPECIFIED:
    case PickerFailureMode.FAIL_CLOSE:
      return false;
    case PickerFailureMode.FAIL_OPEN:
      return true;
    default:
      throw new BackendError(`the failure mode ${String(mode)} of the endpoint picker is not known`);
  }
}

function readMcpPath(path: string): string {
  if (path === '') return '/';
  const target = readTarget(path);
  if (!target.ok)
    throw new BackendError(`the path ${JSON.stringify(path)} of the MCP target cannot be requested: ${target.detail}`);
  if (target.query !== '') throw new BackendError(`the path ${JSON.stringify(path)} of the MCP target has a query`);
  return target.path;
}

// An enum may carry a number that this version does not know; a guess could serve something that was not configured.
function readTransport(transport: McpTransport): McpConfig['transport'] {
  switch (transport) {
    case McpTransport.UNSPECIFIED:
    case McpTransport.STREAMABLE_HTTP:
      return 'streamable-http';
    case McpTransport.SSE:
      return 'sse';
    default:
      throw new BackendError(`the MCP transport ${String(transport)} is not known`);
  }
}

function readSessionRouting(routing: SessionRouting): McpConfig['sessionRouting'] {
  switch (routing) {
    case SessionRouting.UNSPECIFIED:
    case SessionRouting.STATEFUL:
      return 'stateful';
    case SessionRouting.STATELESS:
      return 'stateless';
    default:
      throw new BackendError(`the session routing ${String(routing)} is not known`);
  }
}

function readProtocol(protocol: UpstreamProtocol): BackendConfig['protocol'] {
  switch (protocol) {
    case UpstreamProtocol.UNSPECIFIED:
    case UpstreamProtocol.HTTP1:
      return 'http1';
    case UpstreamProtocol.H2C:
      return 'h2c';
    default:
      throw new BackendError(`the upstream protocol ${String(protocol)} is not known`);
  }
}

function compileTls(tls: UpstreamTls, secrets: Lookup<Secret>): BackendTls {
  return {
    serverName: tls.serverName,
    ca: tls.ca === '' ? undefined : readCaCertificates(tls.ca, secrets),
    insecureSkipVerify: tls.insecureSkipVerify,
  };
}
