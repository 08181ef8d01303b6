// The few lines at start that say what is served, and where to look.
import type { ServedMatch, ServedRoutes } from '../gateway/admin/describe-routes.ts';

/** The gateway's own pages. */
export interface OwnPages {
  readonly admin: string;
  readonly metrics: string;
  readonly readiness: string;
}

const maxMatches = 12;

/** Writes the lines, without colours. */
export function formatServing(served: ServedRoutes, pages: OwnPages): string {
  const lines: string[] = [];
  for (const port of served.ports) {
    const scheme = port.protocol === 'HTTPS' ? 'https' : 'http';
    const address = port.address === '' ? '*' : port.address.includes(':') ? `[${port.address}]` : port.address;
    for (const listener of port.listeners) {
      const host = listener.hostname === '' ? '' : `  host ${listener.hostname}`;
      lines.push(`Serving ${scheme}://${address}:${port.port}${host}  (${listener.listener})`);
      const shown = listener.matches.slice(0, maxMatches);
      const places = shown.map(describePlace);
      const width = Math.max(0, ...places.map((place) => place.length));
      shown.forEach((match, index) =>
        lines.push(`  ${places[index]!.padEnd(width)}  -> ${describeDestination(match)}`),
      );
      if (listener.matches.length === 0) lines.push('  no routes');
      if (listener.matches.length > shown.length) {
        lines.push(`  and ${listener.matches.length - shown.length} more: ${pages.admin}/routes`);
      }
    }
  }
  if (lines.length === 0) lines.push('Serving nothing: the configuration has no usable listener.');
  lines.push(`Admin ${pages.admin}  metrics ${pages.metrics}/metrics  readiness ${pages.readiness}/ready`);
  return `${lines.join('\n')}\n`;
}

/** The same for a log that machines read: one line, however many routes there are. /routes has them all. */
export function summarizeServing({ ports }: ServedRoutes): readonly object[] {
  return ports.flatMap(({ address, port, protocol, listeners }) =>
    listeners.map(({ listener, hostname, matches }) => ({
      listener,
      address,
      port,
      protocol,
      hostname,
      matches: matches.length,
      answeringErrors: matches.filter(({ answers }) => answers !== undefined).length,
    })),
  );
}

function describePlace(match: ServedMatch): string {
  const path =
    match.path.type === 'prefix' ? `${match.path.value === '/' ? '' : match.path.value}/*` : match.path.value;
  const conditions = [...match.headers, ...match.queryParams.map((param) => `?${param}`)];
  return [match.method, `${match.hostname}${match.path.type === 'regularExpression' ? '~' : ''}${path}`, ...conditions]
    .filter((part) => part !== '')
    .join(' ');
}

function describeDestination(match: ServedMatch): string {
  if (match.answers !== undefined)
    return `answers ${match.answers.status} ${match.answers.reason}: ${match.answers.message}`;
  if (match.backends.length === 0) return match.filters.join(', ');
  return match.backends
    .map(({ backend, weight, endpoints, authentication, answers }) => {
      const login = authentication === undefined ? '' : `, login at ${authentication.issuer}`;
      const share = match.backends.length > 1 ? ` (weight ${weight})` : '';
      if (answers !== undefined) return `answers ${answers.status} ${answers.reason}: ${answers.message}${share}`;
      return `${backend}${endpoints.length === 0 ? ', no endpoints' : ` at ${endpoints.join(', ')}`}${login}${share}`;
    })
    .join('; ');
}
