// The part of docs/compatibility.md about ten real servers behind one endpoint, as the run found it.
import type { RealServer } from './real-servers.ts';

/** What came of one row for one client. */
export type FederationOutcome =
  | { readonly kind: 'works' | 'fails' | 'not-applicable' }
  | { readonly kind: 'impossible'; readonly reason: string };

/** A server, as it was found. */
export interface FoundServer extends Pick<
  RealServer,
  'name' | 'package' | 'registry' | 'reach' | 'protocol' | 'isStateless'
> {
  readonly packageVersion: string;
  /** As the gateway says: the version of MCP that it speaks with it. */
  readonly version: string;
  readonly tools: number;
}

/** By row, in order; then by client. */
export type FederationOutcomes = ReadonlyMap<string, ReadonlyMap<string, FederationOutcome>>;

const words = { works: 'yes', fails: 'no', 'not-applicable': '-' } as const;

/** Formats the section. */
export function formatFederationPage(
  servers: readonly FoundServer[],
  outcomes: FederationOutcomes,
  versions: readonly string[],
): string {
  const clients = [...(outcomes.values().next().value?.keys() ?? [])];
  const reasons: string[] = [];
  const formatCell = (outcome: FederationOutcome | undefined): string => {
    if (outcome?.kind !== 'impossible') return words[outcome?.kind ?? 'fails'];
    if (!reasons.includes(outcome.reason)) reasons.push(outcome.reason);
    return `no (${reasons.indexOf(outcome.reason) + 1})`;
  };
  const rows = [...outcomes].map(([title, byClient]) =>
    formatRow([title, ...clients.map((client) => formatCell(byClient.get(client)))]),
  );
  return `## Ten servers behind one endpoint

Real MCP clients use ten real servers as [one endpoint](federation.md), with a token. \`npm run test:compatibility\` repeats the runs and writes this section.
"-" means that the protocol version has no such thing; a number leads to the reason, which the run checks, too.

Versions: ${versions.join(', ')}.

| server | package | reached by | MCP | tools |
|---|---|---|---|---|
${servers.map((server) => formatRow(describeServer(server))).join('\n')}

| | ${clients.join(' | ')} |
|---|${clients.map(() => '---').join('|')}|
${rows.join('\n')}

${reasons.map((reason, index) => `${index + 1}. ${reason}`).join('\n')}

- MCP: the version that the gateway speaks with the server, and the number of tools that it listed last.
- Cancelling: the server fetches a page that does not end, and the run waits until it has let go of it.
- A server that is killed: one process, in the middle of a call of each client, who all keep their connection. Lists then name it, a call of it fails at once with its name, and other
  servers answer; when it is started again, each client hears of it, and uses it without connecting anew.
`;
}

function describeServer(server: FoundServer): readonly string[] {
  const transport = server.protocol === 'SSE' ? 'HTTP+SSE' : 'Streamable HTTP';
  const sessions = server.isStateless ? ', without sessions' : '';
  const reach =
    server.reach === 'HTTP of its own' ? `its own ${transport}` : `${server.reach}, ${transport}${sessions}`;
  return [
    server.name,
    `${server.package} ${server.packageVersion} (${server.registry})`,
    reach,
    server.version,
    String(server.tools),
  ];
}

function formatRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
