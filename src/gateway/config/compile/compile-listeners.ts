// Listener messages -> ports with their listeners and certificates.
import { type Listener, ListenerProtocol, type Secret } from '../../../ir/gen/config_pb.ts';
import { HostTable, readHostnamePattern } from '../../route/table/hostname.ts';
import type { RouteTable } from '../../route/table/route-table.ts';
import {
  arrangeCertificates,
  type CertificateCache,
  createCertificateSelector,
  type ListenerCertificates,
  readServerCertificate,
  type ServerCertificate,
} from './certificates.ts';
import { type ClientValidation, readClientValidation } from './client-validation.ts';
import { describeError, type ReportProblem } from './compile-problem.ts';
import { compileProtection } from './compile-protection.ts';
import type { MatchesByHostname } from './compile-rules.ts';
import { arrangeMatches } from './match-tables.ts';
import type { ListenerConfig, PortConfig, RouteConfig } from '../runtime-config.ts';

interface CompiledListener {
  readonly config: ListenerConfig;
  readonly certificates: ListenerCertificates | undefined;
}

interface OpenPort {
  readonly bindKey: string;
  readonly address: string;
  readonly port: number;
  readonly protocol: PortConfig['protocol'];
  readonly listeners: Map<string, CompiledListener>;
}

/** Where a port is bound, as a key of RuntimeConfig.ports. */
function formatBindKey(address: string, port: number): string {
  return `${address}|${port}`;
}

/**
 * Compiles listeners in the order of their keys. Reports and leaves out a listener that cannot be served, or whose port or hostname an
 * earlier listener already uses (translation reports such conflicts, but listeners of two Gateways can still conflict here).
 */
export function compileListeners(
  listeners: readonly Listener[],
  matches: ReadonlyMap<string, MatchesByHostname>,
  secrets: ReadonlyMap<string, Secret>,
  cache: CertificateCache,
  { listener: report, route: reportRoute }: { readonly listener: ReportProblem; readonly route: ReportProblem },
): Map<string, PortConfig> {
  const ports = new Map<string, OpenPort>();
  for (const listener of listeners) {
    const protocol = readProtocol(listener.protocol);
    const hostname = readHostnamePattern(listener.hostname);
    if (protocol === undefined) {
      report(listener.key, 'this gateway does not support the protocol of the listener');
    } else if (hostname === undefined) {
      report(listener.key, `${JSON.stringify(listener.hostname)} is not a hostname`);
    } else if (listener.port > 65_535) {
      report(listener.key, `${listener.port} is not a port`);
    } else {
      const tls = protocol === 'HTTPS' ? compileTls(listener, secrets, cache, report) : noTls;
      const routes = matches.get(listener.key) ?? new Map();
      const compiled = {
        config: compileListener(listener, hostname, tls.clientAuthorities, routes, reportRoute),
        certificates: tls.certificates,
      };
      for (const address of listener.addresses.length === 0 ? [''] : new Set(listener.addresses)) {
        openPort(ports, address, listener, protocol, hostname, compiled, report);
      }
    }
  }
  return new Map([...ports].map(([key, port]) => [key, closePort(port)]));
}

function readProtocol(protocol: ListenerProtocol): PortConfig['protocol'] | undefined {
  if (protocol === ListenerProtocol.HTTP) return 'HTTP';
  return protocol === ListenerProtocol.HTTPS ? 'HTTPS' : undefined;
}

function compileListener(
  listener: Listener,
  hostname: string,
  clientAuthorities: string | undefined,
  matches: MatchesByHostname,
  reportRoute: ReportProblem,
): ListenerConfig {
  const tables = [...matches].map(([pattern, entries]): [string, RouteTable<RouteConfig>] => [
    pattern,
    arrangeMatches(entries),
  ]);
  return {
    key: listener.key,
    gateway: listener.gateway,
    name: listener.name,
    hostname,
    port: listener.port,
    clientAuthorities,
    routes: new HostTable(tables),
    protection: compileProtection(listener, matches, reportRoute),
  };
}

function openPort(
  ports: Map<string, OpenPort>,
  address: string,
  listener: Listener,
  protocol: PortConfig['protocol'],
  hostname: string,
  compiled: CompiledListener,
  report: ReportProblem,
): void {
  const bindKey = formatBindKey(address, listener.port);
  const open = ports.get(bindKey);
  if (open === undefined) {
    ports.set(bindKey, { bindKey, address, port: listener.port, protocol, listeners: new Map([[hostname, compiled]]) });
  } else if (open.protocol !== protocol) {
    report(
      listener.key,
      `port ${listener.port} already speaks ${open.protocol}; this ${protocol} listener is not served`,
    );
  } else if (open.listeners.has(hostname)) {
    const name = hostname === '' ? 'any hostname' : hostname;
    report(
      listener.key,
      `the listener ${open.listeners.get(hostname)!.config.key} already serves ${name} on port ${listener.port}; this one is not served`,
    );
  } else {
    open.listeners.set(hostname, compiled);
  }
}

function closePort({ bindKey, address, port, protocol, listeners }: OpenPort): PortConfig {
  return {
    bindKey,
    address,
    port,
    protocol,
    listeners: new HostTable(
      [...listeners].map(([hostname, { config }]): [string, ListenerConfig] => [hostname, config]),
    ),
    selectCertificate: protocol === 'HTTPS' ? createCertificateSelector(new HostTable(listeners)) : undefined,
  };
}

interface ListenerTls {
  /** Undefined: no handshake can succeed. */
  readonly certificates: ListenerCertificates | undefined;
  readonly clientAuthorities: string | undefined;
}

const noTls: ListenerTls = { certificates: undefined, clientAuthorities: undefined };
/** Matches no connection: `clientAuthorities` is otherwise a digest. */
const unsatisfiable = '';

function compileTls(
  listener: Listener,
  secrets: ReadonlyMap<string, Secret>,
  cache: CertificateCache,
  report: ReportProblem,
): ListenerTls {
  let validation: ClientValidation | undefined;
  try {
    validation = readClientValidation(listener, secrets);
  } catch (error) {
    report(listener.key, `${describeError(error)}; TLS handshakes for its hostname are refused`);
    return { certificates: undefined, clientAuthorities: unsatisfiable };
  }
  return {
    certificates: compileCertificates(listener, validation, secrets, cache, report),
    clientAuthorities: validation?.isRequired === true ? validation.digest : undefined,
  };
}

function compileCertificates(
  listener: Listener,
  validation: ClientValidation | undefined,
  secrets: ReadonlyMap<string, Secret>,
  cache: CertificateCache,
  report: ReportProblem,
): ListenerCertificates | undefined {
  const usable: ServerCertificate[] = [];
  const keys: string[] = [];
  for (const key of listener.certificates) {
    const value = secrets.get(key)?.value;
    if (value?.case !== 'tls') {
      report(listener.key, `the certificate ${key} is missing`);
      continue;
    }
    try {
      usable.push(readServerCertificate(value.value, validation, cache));
      keys.push(key);
    } catch (error) {
      report(listener.key, `the certificate ${key} cannot be used: ${describeError(error)}`);
    }
  }
  const [first, ...others] = usable;
  if (first !== undefined) {
    return arrangeCertificates([first, ...others], (index) =>
      report(
        listener.key,
        `the certificate ${keys[index]} is never used: earlier certificates of this listener cover all its names`,
      ),
    );
  }
  // Of a certificate that is awaited, whoever sent the listener knows.
  if (listener.awaitedCertificates.length === 0)
    report(listener.key, 'the listener has no usable certificate; TLS handshakes for its hostname are refused');
  return undefined;
}
