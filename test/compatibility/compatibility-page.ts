// The first part of docs/compatibility.md: which client can do what with which server through the gateway, as the run found it.

/** What came of one thing that a client tried. */
export type Outcome = 'works' | 'fails' | 'not-applicable';

/** One server's part of the matrix. */
export interface ServerMatrix {
  readonly server: string;
  /** By scenario, in order; then by client. */
  readonly outcomes: ReadonlyMap<string, ReadonlyMap<string, Outcome>>;
}

const words: Record<Outcome, string> = { works: 'yes', fails: 'no', 'not-applicable': '-' };

/** Formats the section. */
export function formatCompatibilityPage(matrices: readonly ServerMatrix[], versions: readonly string[]): string {
  const sections = matrices.map(({ server, outcomes }) => {
    const clients = [...(outcomes.values().next().value?.keys() ?? [])];
    const rows = [...outcomes].map(([scenario, byClient]) => {
      const cells = clients.map((client) => words[byClient.get(client) ?? 'fails']);
      return `| ${scenario} | ${cells.join(' | ')} |`;
    });
    const head = [`| | ${clients.join(' | ')} |`, `|---|${clients.map(() => '---').join('|')}|`];
    return [`### ${server}`, '', ...head, ...rows].join('\n');
  });
  return `## Servers

Real MCP clients use real MCP servers through the gateway. \`npm run test:compatibility\` repeats the runs and writes this section.
"-" means that the protocol version has no such thing: 2026-07-28 has neither sessions nor resumable streams.

Versions: ${versions.join(', ')}.

${sections.join('\n\n')}

### Remarks

- Resuming: the client's connection is cut in the middle of a call. It comes back with Last-Event-ID, and every event arrives
  once and in order.
- server-everything replays what it sent before a client came back, but does not connect the stream to what follows. That is
  so without a gateway, too. The runs therefore let clients come back to it when the call has been answered.
- The Python library ends its session with DELETE when it is closed, and offers no other way.
`;
}
