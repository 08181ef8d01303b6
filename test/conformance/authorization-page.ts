// Writes docs/conformance/mcp-authorization.md: what the suite's scenarios for authorization servers found, flow by flow.
import { countChecks, formatCounts } from './conformance-page.ts';
import type { CheckResult } from './conformance-suite.ts';

/** What the suite found of the gateway in front of one identity provider. */
export interface AuthorizationResults {
  readonly flow: string;
  readonly idp: string;
  readonly checks: readonly CheckResult[];
}

/** The page. `checks`: the ids of all checks, in the order of the columns. */
export function formatAuthorizationPage(
  suiteVersion: string,
  checks: readonly string[],
  results: readonly AuthorizationResults[],
): string {
  const rows = results.map(({ flow, idp, checks: found }) => {
    const cells = checks.map((id) => {
      const ofCheck = found.filter((each) => each.id === id);
      return formatCounts(countChecks([{ scenario: id, checks: ofCheck }]));
    });
    return `| ${[flow, idp, ...cells].join(' | ')} |`;
  });
  return `# MCP conformance: authorization servers

To MCP clients the gateway is an authorization server. The MCP conformance suite (\`@modelcontextprotocol/conformance\` ${suiteVersion}) runs all its
scenarios for authorization servers against the gateway, in front of several identity providers: its metadata, client ID metadata documents, and a login with a code,
by a client that registered at the gateway. \`npm run test:conformance\` repeats the runs and writes this page.

| flow | identity provider | ${checks.join(' | ')} |
|---|---|${checks.map(() => '---|').join('')}
${rows.join('\n')}

- With the flow Facade the login is the identity provider's own, and only that could take metadata documents of clients: the suite warns that they are not offered.
  The suite asks for no scope. Broker asks for one then; with Facade nothing stands between, and oidc-provider refuses such a login, so that a stub stands in for it.
- With the flow Direct the gateway is no authorization server.
- "A stub": one that answers as the real one does in the points that matter here ([what was tried](../compatibility.md)).
`;
}
