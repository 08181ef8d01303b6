// The authentication part of docs/compatibility.md: which client gets through with which identity provider, as the run found it.

/** What came of one client with one identity provider. */
export type Cell =
  | { readonly kind: 'works'; readonly refreshes: boolean }
  | { readonly kind: 'fails' }
  | { readonly kind: 'impossible'; readonly why: string }
  | { readonly kind: 'not-run' };

/** One identity provider's row. */
export interface AuthenticationRow {
  readonly idp: string;
  /** The flow that was in force; empty when the gateway did not get that far. */
  flow: string;
  /** Who registers clients. */
  readonly registration: string;
  /** By client, in order. */
  readonly cells: Map<string, Cell>;
}

/** Formats the section. */
export function formatAuthenticationSection(rows: readonly AuthenticationRow[], versions: readonly string[]): string {
  const clients = [...(rows[0]?.cells.keys() ?? [])];
  const notes: string[] = [];
  const lines = rows.map(({ idp, flow, registration, cells }) => {
    const words = clients.map((client) => describeCell(cells.get(client) ?? { kind: 'not-run' }, notes));
    return `| ${idp} | ${flow === '' ? '?' : flow} | ${registration} | ${words.join(' | ')} |`;
  });
  const head = ['identity provider', 'flow', 'registration', ...clients];
  return `## Authentication

Real MCP clients with their own OAuth code, from the 401 to a tool call and a second call with a refreshed token. \`npm run test:compatibility\`
repeats the runs and writes this section. "yes" is the whole way; a number leads to the reason why the identity provider makes it impossible,
which the run checks, too.

Versions: ${versions.join(', ')}.

| ${head.join(' | ')} |
|${head.map(() => '---').join('|')}|
${lines.join('\n')}
${notes.length === 0 ? '' : `\n${notes.map((note, index) => `${index + 1}. ${note}`).join('\n')}\n`}
- The flow is what \`flow: Auto\` chose, except for Direct, and for Issuer with Dex, Spring, Entra and generic OAuth 2.0, which are configured.
- Stubs answer as the real ones do in the points that matter here. They are not the real ones.
- Chromium: a page with SDK v2 on an origin of its own. The route has a CORS filter for that origin.
- A metadata document, no egress: the client has a document that describes it, and uses it wherever the gateway offers that, as Claude Code does; the gateway cannot fetch it. The first login ends
  at a page that says so, and the second one registers and succeeds. Facade and Direct offer no documents, so there the first login registers and succeeds.
- Refreshing: both SDKs refresh when a request is refused, Python \`mcp\` when the clock says that the token is too old.
`;
}

function describeCell(cell: Cell, notes: string[]): string {
  switch (cell.kind) {
    case 'works':
      return cell.refreshes ? 'yes' : 'yes, without refresh';
    case 'fails':
      return '**no**';
    case 'not-run':
      return 'not run';
    case 'impossible': {
      if (!notes.includes(cell.why)) notes.push(cell.why);
      return `no (${notes.indexOf(cell.why) + 1})`;
    }
  }
}
