// A gateway with something of everything that the admin overview shows: routes that are open, protected, closed and redirected, an endpoint that is ejected,
// an identity provider that is gone, and a port that is taken.
import { startQuirkyIdp } from '../idp/quirky-idp.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';

/** It runs. */
export interface VariedGateway {
  readonly gateway: GatewayRun;
  /** A message to one of its paths; the status of the answer. */
  post(path: string, message: object): Promise<number>;
  close(): Promise<void>;
}

/** Starts it, and waits until all of it is to be seen. */
export async function startVariedGateway(): Promise<VariedGateway> {
  const upstream = await startMcpUpstream();
  const idp = await startQuirkyIdp();
  const [deadPort, deadIdp] = (await findFreePorts(2)) as [number, number];
  const describe = (port: number): object[] => describeResources(port, upstream.port, idp.issuer, deadPort, deadIdp);
  const gateway = await runGateway({ resources: describe, flags: ['--eject-after-failures', '1'] });
  const post: VariedGateway['post'] = async (path, message) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message });
    const answer = await fetch(gateway.urlOf(path), { method: 'POST', headers, body, redirect: 'manual' });
    await answer.arrayBuffer();
    return answer.status;
  };
  const close = async (): Promise<void> => {
    await gateway.stop();
    await Promise.all([upstream.close(), idp.close()]);
  };
  try {
    // A port that is taken when the gateway starts would keep it from starting.
    const [head, ...rest] = describe(gateway.port) as [{ spec: { listeners: object[] } }, ...object[]];
    head.spec.listeners.push({ name: 'taken', protocol: 'HTTP', port: upstream.port });
    gateway.write([head, ...rest]);
    await waitFor('the endpoint is ejected', async () => {
      await post('/search', { method: 'ping' });
      const page = await readPage(gateway);
      return page.includes('>ejected<') && page.includes('not served') && page.includes('last fetch failed');
    });
    return { gateway, post, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The overview, as text. */
export async function readPage(gateway: GatewayRun, path = '/'): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${gateway.adminPort}${path}`, { headers: { accept: 'text/html' } });
  return answer.text();
}

function describeResources(port: number, server: number, issuer: string, deadPort: number, deadIdp: number): object[] {
  const tokens = createIssuer('https://login.corp.example', { kid: '2026-11', algorithm: 'ES256' });
  return [
    gatewayResource(port),
    routeResource('tickets', [ruleTo('/tickets', 'tickets', { name: 'mcp' })]),
    routeResource('reports', [ruleTo('/reports', 'reports', { name: 'mcp' })], {
      hostnames: ['127.0.0.1', 'reports.corp.example'],
    }),
    routeResource('wiki', [ruleTo('/wiki', 'wiki')]),
    routeResource('search', [ruleTo('/search', 'search')]),
    routeResource('hr', [ruleTo('/hr', 'hr')]),
    routeResource('billing', [ruleTo('/billing', 'reports')]),
    routeResource('former', [
      {
        matches: [{ path: { type: 'PathPrefix', value: '/docs' } }],
        filters: [
          { type: 'RequestRedirect', requestRedirect: { path: { type: 'ReplaceFullPath', replaceFullPath: '/wiki' } } },
        ],
      },
    ]),
    ...['tickets', 'reports', 'wiki', 'hr'].map((name) => backendResource(name, server)),
    backendResource('search', deadPort),
    policy('tickets-login', 'ProxyBackend', 'tickets', {
      backend: { mcp: { authentication: { issuer, allowInsecureHttp: true } } },
    }),
    policy('ticket-tools', 'ProxyBackend', 'tickets', {
      backend: { mcp: { authorization: { policy: { matchExpressions: ['mcp.tool.name.startsWith("ticket_")'] } } } },
    }),
    policy('hr-login', 'ProxyBackend', 'hr', {
      backend: { mcp: { authentication: { issuer: `http://127.0.0.1:${deadIdp}`, allowInsecureHttp: true } } },
    }),
    policy('machines', 'HTTPRoute', 'reports', {
      traffic: {
        jwtAuthentication: { providers: [providerOf('corp', tokens)] },
        authorization: { action: 'Require', policy: { matchExpressions: ['jwt.groups.exists(g, g == "finance")'] } },
      },
    }),
    policy('invoices', 'HTTPRoute', 'billing', {
      traffic: {
        jwtAuthentication: {
          providers: [
            {
              name: 'corp',
              issuer: 'https://login.corp.example',
              audiences: ['api'],
              jwks: { backendRef: { name: 'keys', port: 80 }, path: '/keys' },
            },
          ],
        },
      },
    }),
  ];
}

function policy(name: string, kind: string, target: string, spec: object): object {
  const group = kind === 'ProxyBackend' ? 'gateway.proxy' : 'gateway.networking.k8s.io';
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: { targetRefs: [{ group, kind, name: target }], ...spec },
  };
}
