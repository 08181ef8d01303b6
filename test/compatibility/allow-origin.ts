// Lets the pages of one origin use a protected MCP server: the CORS filter that an operator adds to the route for browser-based clients.
import { formatResources } from '../idp/protected-gateway.ts';
import type { ProtectedSystem } from '../idp/protected-system.ts';
import { waitFor } from '../kit/wait-for.ts';

interface Route {
  readonly kind: string;
  readonly spec: { readonly rules: readonly object[] };
}

/** Changes the configuration of the gateway, and resolves when the change is in force. */
export async function allowOrigin({ idp, mcpServer, gateway, url }: ProtectedSystem, origin: string): Promise<void> {
  const target = new URL(mcpServer.url);
  const resources = formatResources(gateway.port, {
    backends: [
      {
        path: new URL(url).pathname,
        port: Number(target.port),
        targetPath: target.pathname,
        authentication: idp.authentication,
      },
    ],
    secrets: idp.secrets,
    origin: new URL(url).origin,
  });
  const cors = {
    allowOrigins: [origin],
    allowMethods: ['GET', 'POST', 'DELETE'],
    allowHeaders: ['*'],
    exposeHeaders: ['Mcp-Session-Id', 'WWW-Authenticate'],
  };
  gateway.write(
    resources.map((resource) => {
      const { kind, spec } = resource as Route;
      if (kind !== 'HTTPRoute') return resource;
      return {
        ...resource,
        spec: { ...spec, rules: spec.rules.map((rule) => ({ ...rule, filters: [{ type: 'CORS', cors }] })) },
      };
    }),
  );
  await waitFor(async () => {
    const preflight = { origin, 'access-control-request-method': 'POST' };
    const answer = await fetch(url, { method: 'OPTIONS', headers: preflight });
    return answer.headers.get('access-control-allow-origin') === origin;
  });
}
