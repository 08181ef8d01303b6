// A real gateway whose routes are guarded by JWT authentication and rules, and an MCP server behind it that remembers what reached it.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { ask, type FlowAnswer } from '../idp/flow-client.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import {
  type GatewayProcessRun,
  type GatewayRun,
  type GatewayRunOptions,
  runGateway,
  runGatewayProcess,
} from '../kit/run-gateway.ts';
import { type RecordedRequest, type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';

/** What stands behind the gateway and how it is guarded. */
export interface GuardedOptions {
  /** `a` is served at /a, by the HTTPRoute and the ProxyBackend of that name. */
  readonly routes: readonly string[];
  readonly policies: readonly object[];
  /** What the MCP server answers; a plain result when absent. */
  readonly answer?: (request: RecordedRequest, response: ServerResponse) => void;
  readonly flags?: readonly string[];
}

/** A gateway that runs. */
export interface GuardedGateway<Run extends GatewayRun = GatewayRun> {
  readonly run: Run;
  readonly port: number;
  readonly upstream: RecordingUpstream;
  /** The resources, for another configuration made from them. */
  resources(policies: readonly object[]): readonly object[];
  /** Posts a message, or any text. */
  post(
    path: string,
    token: string | undefined,
    message: unknown,
    headers?: Record<string, string | string[]>,
  ): Promise<FlowAnswer>;
  get(path: string, token: string | undefined, headers?: Record<string, string>): Promise<FlowAnswer>;
  /** The answer is this error, and the MCP server has seen nothing since `upstream.forget()`. */
  assertRefused(answer: FlowAnswer, status: number, error: string, what?: string): void;
  close(): Promise<void>;
}

/** Starts the MCP server and the gateway. */
export function startGuardedGateway(options: GuardedOptions): Promise<GuardedGateway> {
  return start(options, runGateway);
}

/** The gateway is a process of its own: for tests that look at its memory. */
export function startGuardedGatewayProcess(options: GuardedOptions): Promise<GuardedGateway<GatewayProcessRun>> {
  return start(options, runGatewayProcess);
}

async function start<Run extends GatewayRun>(
  options: GuardedOptions,
  begin: (options: GatewayRunOptions) => Promise<Run>,
): Promise<GuardedGateway<Run>> {
  const upstream =
    options.answer === undefined ? await startMcpUpstream() : await startRecordingUpstream('mcp', options.answer);
  const listResources = (port: number, policies: readonly object[]): readonly object[] => [
    gatewayResource(port),
    ...options.routes.flatMap((name) => [
      routeResource(name, [ruleTo(`/${name}`, name)]),
      backendResource(name, upstream.port),
    ]),
    ...policies,
  ];
  const run = await begin({
    resources: (port) => listResources(port, options.policies),
    flags: ['--log-format', 'json', ...(options.flags ?? [])],
  }).catch(async (error: unknown) => {
    await upstream.close();
    throw error;
  });
  const authorize = (token: string | undefined): Record<string, string> =>
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    run,
    port: run.port,
    upstream,
    resources: (policies) => listResources(run.port, policies),
    post: (path, token, message, headers = {}) =>
      ask(run.url + path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...authorize(token),
          ...headers,
        },
        body: typeof message === 'string' ? message : JSON.stringify(message),
      }),
    get: (path, token, headers = {}) => ask(run.url + path, { headers: { ...authorize(token), ...headers } }),
    assertRefused(answer, status, error, what = '') {
      assert.equal(answer.status, status, `${what}: ${answer.body}`);
      assert.equal(answer.json()['error'], error, what);
      assert.equal(upstream.headCount, 0, `${what}: it reached the MCP server`);
    },
    async close() {
      await run.stop();
      await upstream.close();
    },
  };
}

/** A ProxyPolicy over a route, with `traffic`. */
export function routePolicy(route: string, traffic: object, name = `${route}-route`): object {
  return createPolicy(name, { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: route }, { traffic });
}

/** A ProxyPolicy over a backend, with `backend.mcp`. */
export function backendPolicy(backend: string, mcp: object, name = `${backend}-backend`): object {
  return createPolicy(name, { group: 'gateway.proxy', kind: 'ProxyBackend', name: backend }, { backend: { mcp } });
}

function createPolicy(name: string, targetRef: object, spec: object): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: { targetRefs: [targetRef], ...spec },
  };
}
