// Which port of the gateway a URL leads to. In front of a gateway there may be a load balancer or a Service with other ports, so the port of the
// URL decides only where a listener has it.
import { findNearestName } from '../../base/nearest-name.ts';
import type { ListenerConfig, PortConfig, RuntimeConfig } from '../../gateway/config/runtime-config.ts';
import type { RequestLine } from './request-line.ts';

/** The port on which the request would arrive, or why that cannot be told. */
type ChosenPort =
  | { readonly ok: true; readonly port: PortConfig; readonly listener: ListenerConfig }
  | { readonly ok: false; readonly problem: string };

interface Candidate {
  readonly port: PortConfig;
  readonly listener: ListenerConfig;
}

/** Chooses by scheme, port and host, or by the name of a listener: `https`, `public/https` or `default/public/https`. */
export function choosePort(runtime: RuntimeConfig, line: RequestLine, listenerName?: string): ChosenPort {
  const all = listCandidates(runtime);
  if (all.length === 0) return { ok: false, problem: 'nothing is served: there is no usable listener' };
  return listenerName === undefined ? chooseByUrl(all, line) : chooseByName(all, line, listenerName);
}

function chooseByUrl(all: readonly Candidate[], line: RequestLine): ChosenPort {
  const { scheme, port = scheme === 'https' ? 443 : 80 } = line;
  const reached = all.filter((candidate) => isReached(candidate, line));
  const sameScheme = reached.filter(({ port: { protocol } }) => protocol === scheme.toUpperCase());
  const samePort = sameScheme.filter((candidate) => candidate.port.port === port);
  if (samePort.length > 0) return take(samePort);
  // An explicit port that no listener has may be the one of whatever stands in front.
  const left = sameScheme.length > 0 ? sameScheme : reached;
  if (left.length === 0) {
    const what = `${scheme}://${line.authority}`;
    return { ok: false, problem: `no Gateway listens for ${what}; there is ${describeAll(all)}` };
  }
  return take(left);
}

function chooseByName(all: readonly Candidate[], line: RequestLine, name: string): ChosenPort {
  const named = all.filter(({ listener }) => isNamed(listener, name));
  if (named.length === 0) {
    const near = findNearestName(
      name,
      all.map(({ listener }) => listener.name),
    );
    const hint = near === undefined ? `there is ${describeAll(all)}` : `did you mean ${near}?`;
    return { ok: false, problem: `there is no listener ${JSON.stringify(name)}; ${hint}` };
  }
  const reached = named.filter((candidate) => isReached(candidate, line));
  if (reached.length > 0) return take(reached);
  const { hostname } = named[0]!.listener;
  return {
    ok: false,
    problem: `the listener ${name} does not serve the host ${line.hostname}, only ${hostname === '' ? 'others' : hostname}`,
  };
}

/** Several addresses of one listener are the same to a request; several listeners are not. */
function take(candidates: readonly Candidate[]): ChosenPort {
  const [first] = candidates;
  if (first === undefined) return { ok: false, problem: 'nothing is served' };
  const keys = new Set(candidates.map(({ listener }) => listener.key));
  if (keys.size === 1) return { ok: true, ...first };
  return {
    ok: false,
    problem: `several listeners could be meant: ${describeAll(candidates)}; name one with --listener, or its port in the URL`,
  };
}

/** Whether this listener, and not another one of its port, would get the request. */
function isReached({ port, listener }: Candidate, { hostname }: RequestLine): boolean {
  return port.listeners.find(hostname) === listener;
}

function isNamed({ key, name, gateway }: ListenerConfig, wanted: string): boolean {
  const gatewayName = gateway.split('/').at(-1) ?? '';
  return [name, `${gatewayName}/${name}`, `${gateway}/${name}`, key].includes(wanted);
}

function listCandidates({ ports }: RuntimeConfig): Candidate[] {
  return [...ports.values()].flatMap((port) => port.listeners.entries().map(([, listener]) => ({ port, listener })));
}

const maxDescribed = 6;

function describeAll(candidates: readonly Candidate[]): string {
  const texts = new Set(
    candidates
      .toSorted((left, right) => left.port.port - right.port.port)
      .map(({ port, listener }) => {
        const host = listener.hostname === '' ? 'any host' : listener.hostname;
        return `${listener.gateway}/${listener.name} (${port.protocol} ${port.port}, ${host})`;
      }),
  );
  const shown = [...texts].slice(0, maxDescribed);
  return `${shown.join(', ')}${texts.size > shown.length ? ` and ${texts.size - shown.length} more` : ''}`;
}
