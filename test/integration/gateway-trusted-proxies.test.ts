// X-Forwarded-* of proxies that --trusted-proxies names, and of everybody else.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Echo, startUpstream, type Upstream } from './gateway-fixture.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const forwarded = {
  'x-forwarded-for': '198.51.100.7',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'public.example',
  'x-forwarded-port': '8443',
};

const protect = {
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: 'login' },
  spec: {
    targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tools' }],
    backend: { mcp: { authentication: { issuer: 'https://idp.example/' } } },
  },
};

const fromOutside = {
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: 'from-outside' },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'addresses' }],
    traffic: {
      authorization: {
        action: 'Require',
        policy: { matchExpressions: ['inNetwork(source.address, "198.51.100.0/24") && request.scheme == "https"'] },
      },
    },
  },
};

for (const [who, network, isTrusted] of [
  ['a proxy that is trusted', '127.0.0.0/8', true],
  ['a proxy that is not', '10.0.0.0/8', false],
] as const) {
  describe(who, () => {
    let upstream: Upstream;
    let gateway: GatewayRun;
    before(async () => {
      upstream = await startUpstream();
      gateway = await runGateway({
        resources: (port) => [
          gatewayResource(port),
          backendResource('plain', upstream.port, '/plain'),
          backendResource('tools', upstream.port, '/tools'),
          protect,
          fromOutside,
          routeResource('plain', [ruleTo('/plain', 'plain')]),
          routeResource('addresses', [ruleTo('/addresses', 'plain')]),
          routeResource('tools', [ruleTo('/tools', 'tools')]),
          routeResource('moved', [
            {
              matches: [{ path: { type: 'PathPrefix', value: '/moved' } }],
              filters: [
                {
                  type: 'RequestRedirect',
                  requestRedirect: { path: { type: 'ReplaceFullPath', replaceFullPath: '/here' } },
                },
              ],
            },
          ]),
        ],
        flags: ['--trusted-proxies', network],
      });
    });
    after(async () => {
      await gateway.stop();
      await upstream.close();
    });
    const ask = (path: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${gateway.port}${path}`, { headers: forwarded, redirect: 'manual' });

    test(`${isTrusted ? 'is' : 'is not'} believed by what goes upstream`, async () => {
      const { headers } = (await (await ask('/plain')).json()) as Echo;
      const value = (name: string): string | undefined => headers[headers.findIndex((each) => each === name) + 1];
      assert.deepEqual(
        ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-port'].map(value),
        isTrusted
          ? ['198.51.100.7, 127.0.0.1', 'https', 'public.example', '8443']
          : ['127.0.0.1', 'http', `127.0.0.1:${gateway.port}`, String(gateway.port)],
      );
    });

    test(`${isTrusted ? 'is' : 'is not'} believed by what MCP clients are told, but for the host`, async () => {
      const base = isTrusted ? 'https://127.0.0.1:8443' : `http://127.0.0.1:${gateway.port}`;
      const metadata = (await (await ask('/.well-known/oauth-protected-resource/tools')).json()) as {
        resource: string;
      };
      assert.equal(metadata.resource, `${base}/tools`);
    });

    test(`${isTrusted ? 'is' : 'is not'} believed by rules, redirects and the log`, async () => {
      assert.equal((await ask('/addresses')).status, isTrusted ? 200 : 403);
      assert.equal(
        (await ask('/moved')).headers.get('location'),
        isTrusted ? 'https://127.0.0.1:8443/here' : `http://127.0.0.1:${gateway.port}/here`,
      );
      const address = isTrusted ? '"client":"198.51.100.7"' : '"client":"127.0.0.1:';
      await waitFor(() => gateway.readOutput().includes(address));
      assert.equal(gateway.readOutput().includes('198.51.100.7'), isTrusted);
    });
  });
}
