// A controller and a gateway process that have seen traffic and trouble, so that every metric that monitoring looks at has all of its labels.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createMetrics } from '../../src/base/metrics.ts';
import { createTranslator } from '../../src/translate/translate.ts';
import {
  connectGateway,
  makeToken,
  putPod,
  startCluster,
  startReplica,
  waitForCondition,
} from '../integration/controller-fixture.ts';
import { createIssuer } from '../kit/test-issuer.ts';
import { gatewayName, makeFolder, startGatewayCommandProcess } from '../integration/gateway-command-fixture.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';

/** The text of both `/metrics`. */
export interface ExposedTexts {
  readonly controller: string;
  readonly gateway: string;
}

const namespace = 'n';
const gatewayApi = 'gateway.networking.k8s.io';
const issuer = 'https://idp.example.com';

/** In form, and no key in it: the point is not on the curve. Only the gateway, which is to use it, finds out. */
const unusableKeys = JSON.stringify({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'broken', x: 'AAAA', y: 'AAAA' }] });

/** Starts both, lets everything happen that they count, and reads what they say. Both are stopped with the test. */
export async function exposeRunningSystem(context: TestContext): Promise<ExposedTexts> {
  const [port, deadPort] = (await findFreePorts(2)) as [number, number];
  const upstreamPort = await startUpstream(context);
  const cluster = await startCluster(context);
  const registry = createMetrics({ processMetrics: true });
  const translator = createTranslator({ placement: 'pods' });
  for (const object of describeResources(port, upstreamPort, deadPort)) cluster.put(object);
  cluster.inject({ verb: 'update', kind: 'Gateway', fault: { type: 'status', code: 409, reason: 'Conflict' } });
  cluster.inject({ verb: 'update', kind: 'HTTPRoute', fault: { type: 'status', code: 500 } });
  const replica = await startReplica(context, cluster, {
    metrics: registry,
    translate(resources) {
      if (resources.httpRoutes.some(({ metadata }) => metadata.name === 'poison')) throw new Error('a mistake of ours');
      return translator.translate(resources);
    },
  });
  await waitFor('the Service is there', () => cluster.find('Service', `${namespace}/g-proxy`));

  const token = join(makeFolder(context), 'token');
  writeFileSync(token, makeToken(namespace, 'g-proxy', 'pod-1'));
  putPod(cluster, namespace, 'pod-1');
  const controller = `http://127.0.0.1:${replica.xdsPort}`;
  const gateway = await startGatewayCommandProcess(context, controller, ['--controller-token', token]);
  await waitFor('the gateway is ready', () => gateway.isReady());
  await waitForCondition(cluster, 'ProxyPolicy', `${namespace}/broken`, 'Programmed', 'False', 'Rejected');
  connectGateway(context, cluster, { port: replica.xdsPort, gateway: gatewayName, nodeId: 'other', token: 'a.e30.b' });

  const ask = async (path: string): Promise<number> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    await answer.text();
    return answer.status;
  };
  const statuses = await Promise.all(['/open', '/events', '/nowhere', '/members', '/broken', '/dead'].map(ask));
  if (statuses.join() !== '200,200,404,401,500,502') throw new Error(`the answers were ${statuses.join()}`);
  await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    }),
  }).then((answer) => answer.text());
  const exposeGateway = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
  await waitFor('an endpoint is ejected, and another one tried', async () => {
    await Promise.all([ask('/dead'), ask('/both')]);
    const text = await exposeGateway();
    return /^mcp_gateway_upstream_ejections_total\{/m.test(text) && /^mcp_gateway_upstream_retries_total\{/m.test(text);
  });

  cluster.expireHistory();
  cluster.watches.drop();
  cluster.put(describeRoute('poison', '/poison', 'open'));
  await waitFor('the controller has counted its troubles', async () => {
    const text = await registry.expose();
    return ['relists', 'status_conflicts', 'status_failures', 'xds_refused', 'xds_nacks']
      .map((name) => new RegExp(`^mcp_gateway_controller_${name}_total\\{`, 'm'))
      .concat(/^mcp_gateway_controller_reconciles_total\{result="error"\}/m)
      .every((line) => line.test(text));
  });
  return { controller: await registry.expose(), gateway: await exposeGateway() };
}

/** Answers everything; `/events` with a stream. */
async function startUpstream(context: TestContext): Promise<number> {
  const server = createServer((request, response) => {
    const isStream = request.url?.startsWith('/events') === true;
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'text/plain').end('data: fine\n\n');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

function describeResources(port: number, upstreamPort: number, deadPort: number): object[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: `${gatewayApi}/v1`,
      kind: 'Gateway',
      metadata: { namespace, name: 'g' },
      spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port, protocol: 'HTTP' }] },
    },
    ...describeService('live', [upstreamPort]),
    ...describeService('dead', [deadPort]),
    ...describeService('both', [deadPort, upstreamPort]),
    describeRoute('open', '/open', 'live'),
    describeRoute('events', '/events', 'live'),
    describeRoute('members', '/members', 'live'),
    describeRoute('broken', '/broken', 'live'),
    describeRoute('dead', '/dead', 'dead'),
    describeRoute('both', '/both', 'both'),
    ...describeFederation(upstreamPort, deadPort),
    describePolicy('members', createIssuer(issuer).jwks),
    describePolicy('broken', unusableKeys),
  ];
}

function describeRoute(name: string, path: string, service: string): object {
  const rule = { matches: [{ path: { type: 'PathPrefix', value: path } }], backendRefs: [{ name: service, port: 80 }] };
  return {
    apiVersion: `${gatewayApi}/v1`,
    kind: 'HTTPRoute',
    metadata: { namespace, name },
    spec: { parentRefs: [{ name: 'g' }], rules: [rule] },
  };
}

/** One server that answers, though not as MCP does, and one that is down. */
function describeFederation(upstreamPort: number, deadPort: number): object[] {
  const targets = Object.entries({ odd: upstreamPort, dead: deadPort }).map(([name, port]) => ({
    name,
    static: { host: '127.0.0.1', port },
  }));
  const backendRefs = [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'all' }];
  return [
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyBackend',
      metadata: { namespace, name: 'all' },
      spec: { mcp: { targets } },
    },
    {
      apiVersion: `${gatewayApi}/v1`,
      kind: 'HTTPRoute',
      metadata: { namespace, name: 'all' },
      spec: { parentRefs: [{ name: 'g' }], rules: [{ matches: [{ path: { value: '/mcp' } }], backendRefs }] },
    },
  ];
}

function describeService(name: string, ports: readonly number[]): object[] {
  const slices = ports.map((port) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace, name: `${name}-${port}`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['127.0.0.1'] }],
    ports: [{ port }],
  }));
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name }, spec: { ports: [{ port: 80 }] } },
    ...slices,
  ];
}

function describePolicy(name: string, keys: string): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { namespace, name },
    spec: {
      targetRefs: [{ group: gatewayApi, kind: 'HTTPRoute', name }],
      traffic: {
        jwtAuthentication: {
          providers: [{ name: 'corp', issuer, audiences: ['api'], jwks: { inline: keys } }],
        },
      },
    },
  };
}
