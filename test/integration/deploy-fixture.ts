// A deployer against an API server, with Gateways that exist there.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { GatewayParameters } from '../../src/api/gateway-parameters.ts';
import type { Gateway } from '../../src/api/gateway.ts';
import { parseResource } from '../../src/api/parse-resource.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { type DeployInput, type Deployer, type DeployResult, startDeployer } from '../../src/deploy/deployer.ts';
import { makePlan, usualSettings } from '../../src/deploy/testdata/read-plan.ts';
import type { EventRecord } from '../../src/kubernetes/events.ts';
import type { GatewayPlan } from '../../src/translate/gateway-plan.ts';
import { type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import type { SeenRequest } from './fake-api-server/fault.ts';
import { waitFor } from '../kit/wait-for.ts';

/** Short waits between failures. */
export const quick = { firstRetryMs: 1, maxRetryMs: 4, lookAgainMs: 2, confirmMs: 1 };

export interface DeployFixture {
  readonly cluster: FakeApiServer;
  readonly deployer: Deployer;
  readonly events: readonly EventRecord[];
  /** A Gateway in the cluster, as a source would give it. */
  readonly makeGateway: (name: string, className?: string) => Gateway;
  readonly plan: (gateway: Gateway, ...specs: readonly object[]) => GatewayPlan;
  readonly reconcile: (plans: readonly GatewayPlan[], more?: Partial<DeployInput>) => void;
  readonly result: (name: string) => DeployResult | undefined;
  /** Plans it, and waits until it is deployed without a problem. */
  readonly deploy: (plan: GatewayPlan) => Promise<void>;
  /** Writes so far, as `verb Kind name`. */
  readonly listWrites: () => readonly string[];
}

/** Starts an API server, unless there is one, and a deployer. */
export async function startDeployFixture(
  context: TestContext,
  given?: FakeApiServer,
  log: Log = silentLog,
): Promise<DeployFixture> {
  const cluster = given ?? (await startFakeApiServer(context));
  const events: EventRecord[] = [];
  const deployer = startDeployer({
    client: cluster.connect(),
    log,
    events: { record: (record) => void events.push(record) },
    retryMs: [1, 4],
    watchTiming: quick,
  });
  context.after(() => deployer.stop());
  const reconcile = (plans: readonly GatewayPlan[], more: Partial<DeployInput> = {}): void =>
    deployer.reconcile({ plans, held: [], settings: usualSettings, ...more });
  const result = (name: string): DeployResult | undefined => deployer.results.get().get(name);
  return {
    cluster,
    deployer,
    events,
    reconcile,
    result,
    makeGateway: (name, className = 'proxy') =>
      readGateway(
        cluster.put({
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'Gateway',
          metadata: { name, namespace: 'default' },
          spec: { gatewayClassName: className, listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
        }),
      ),
    plan: (gateway, ...specs) => makePlan(gateway, specs.map(readParameters)),
    async deploy(plan) {
      reconcile([plan]);
      await waitFor(`${plan.name} is deployed`, () => {
        const seen = result(plan.name);
        return seen !== undefined && seen.problem === undefined && seen.replicas !== undefined;
      });
    },
    listWrites: () =>
      cluster.requests.filter(isWrite).map(({ verb, kind, name, body }) => {
        const made = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name;
        return `${verb} ${kind} ${name ?? made}`;
      }),
  };
}

function isWrite({ verb }: SeenRequest): boolean {
  return ['create', 'update', 'patch', 'apply', 'delete'].includes(verb);
}

/** A Gateway as it is in the cluster. */
export function readGateway(live: object): Gateway {
  const parsed = parseResource(live, { origin: 'kubernetes' });
  assert.ok(parsed.ok && parsed.kind === 'Gateway', JSON.stringify(parsed));
  return parsed.resource;
}

function readParameters(spec: object): GatewayParameters {
  const raw = { apiVersion: 'gateway.proxy/v1alpha1', kind: 'GatewayParameters', metadata: { name: 'a' }, spec };
  const parsed = parseResource(raw, { origin: 'kubernetes' });
  assert.ok(parsed.ok && parsed.kind === 'GatewayParameters', JSON.stringify(parsed));
  return parsed.resource;
}
