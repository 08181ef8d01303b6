// The few lines at start that say what is served, and where to look.
import type { Palette } from '../base/terminal.ts';
import { describeBadge } from '../gateway/admin/protection-badge.ts';
import type { ServedMatch, ServedRoutes } from '../gateway/admin/describe-routes.ts';

/** The gateway's own pages. */
export interface OwnPages {
  readonly admin: string;
  readonly metrics: string;
  readonly readiness: string;
  /** The ports that were wanted, of those that are taken. */
  readonly taken: Readonly<Partial<Record<'admin' | 'metrics' | 'readiness', number>>>;
}

const maxMatches = 12;
const maxCallbacks = 4;

const badgeColors = { bad: 'red', good: 'green', quiet: 'dim' } as const;

/** Writes the lines: of each route where it is, what protects it, and where it leads; then the callbacks to enter at identity providers, by issuer. */
export function formatServing(
  served: ServedRoutes,
  callbacks: ReadonlyMap<string, readonly string[]>,
  pages: OwnPages,
  palette: Palette,
): string {
  const lines: string[] = [];
  for (const port of served.ports) {
    const scheme = port.protocol === 'HTTPS' ? 'https' : 'http';
    const address = port.address === '' ? '*' : port.address.includes(':') ? `[${port.address}]` : port.address;
    for (const listener of port.listeners) {
      const host = listener.hostname === '' ? '' : `  host ${listener.hostname}`;
      lines.push(`Serving ${scheme}://${address}:${port.port}${host}  (${listener.listener})`);
      const shown = listener.matches.slice(0, maxMatches);
      const places = shown.map(describePlace);
      const badges = shown.map((match) => describeBadge(match.protection, answersErrors(match)));
      const width = Math.max(0, ...places.map((place) => place.length));
      const badgeWidth = Math.max(0, ...badges.map(({ text }) => text.length));
      shown.forEach((match, index) => {
        const { text, tone } = badges[index]!;
        const badge = `${palette[badgeColors[tone]](text)}${' '.repeat(badgeWidth - text.length)}`;
        lines.push(`  ${places[index]!.padEnd(width)}  ${badge}  -> ${describeDestination(match)}`);
      });
      if (listener.matches.length === 0) lines.push('  no routes');
      if (listener.matches.length > shown.length) {
        lines.push(`  and ${listener.matches.length - shown.length} more: ${pages.admin}/routes`);
      }
    }
  }
  for (const [issuer, urls] of callbacks)
    lines.push(
      `Redirect URI of the client at ${issuer}: ${urls.slice(0, maxCallbacks).join(', ')}${urls.length > maxCallbacks ? `, and more: ${pages.admin}/routes` : ''}`,
    );
  const nothing = describeNothing(served);
  if (nothing !== undefined) lines.push(palette.red(`${nothing} The gateway is not ready.`));
  const { admin, metrics, readiness, taken } = pages;
  const places = [
    `Admin ${admin}${formatTaken(taken.admin)}`,
    `metrics ${metrics}/metrics${formatTaken(taken.metrics)}`,
    `readiness ${readiness}/ready${formatTaken(taken.readiness)}`,
  ];
  lines.push(places.join('  '));
  return `${lines.join('\n')}\n`;
}

/** Why nothing is served; undefined: something is. */
export function describeNothing({ ports }: ServedRoutes): string | undefined {
  if (ports.length === 0) return 'Serving nothing: the configuration has no usable listener.';
  const hasRoute = ports.some(({ listeners }) => listeners.some(({ matches }) => matches.length > 0));
  return hasRoute ? undefined : 'Serving nothing: no listener has a route, so every request is answered with 404.';
}

function formatTaken(port: number | undefined): string {
  return port === undefined ? '' : ` (${port} is taken)`;
}

function answersErrors({ answers, backends }: ServedMatch): boolean {
  return answers !== undefined || (backends.length > 0 && backends.every((backend) => backend.answers !== undefined));
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
      open: matches.filter((match) => describeBadge(match.protection, answersErrors(match)).tone === 'bad').length,
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
