// Many routes with a policy each, applied to a test cluster, and what that costs.
import { setTimeout as sleep } from 'node:timers/promises';
import { SignJWT } from 'jose';
import { Agent, request } from 'undici';
import { createSigningKey, type SigningKey } from '../idp/signing-keys.ts';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { createEcho, createGateway, createPolicy, createRoute, toService } from './cluster-resources.ts';
import { listGatewayPods, waitUntilReachable } from './deployed-gateway.ts';
import { buildProductImages } from './image-table.ts';
import { installationNamespace, installController, type InstalledController } from './installed-controller.ts';
import { waitUntilWell } from './resource-conditions.ts';
import { locateResource, locateResources } from './resource-paths.ts';
import type { MeasuredProcess, ScaleResult } from './scale-report.ts';
import { startCluster } from './start-cluster.ts';
import type { ContainerName, ProcessUsage } from './supervisor-commands.ts';

/** What to measure. */
export interface ScaleOptions {
  readonly routes: number;
  readonly changes: number;
  readonly report: (line: string) => void;
}

const issuer = 'https://idp.example.com';
const writers = 32;
/** V8 gives memory back when nothing has happened for about half a minute. */
const restSeconds = 75;
const groupOf = (index: number): string => `team-${index}`;

/** Starts a cluster, applies everything, measures, and stops it. */
export async function measureScale({ routes, changes, report }: ScaleOptions): Promise<ScaleResult> {
  report('building the images, and starting a cluster');
  const cluster = await startCluster({ images: await buildProductImages() });
  try {
    const controller = await installController(cluster);
    await cluster.apply([...createEcho('echo'), createGateway('web')]);
    await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web' }]);
    const trial = new ScaleTrial(
      cluster,
      controller,
      await createSigningKey(),
      await waitUntilReachable(cluster, 'web'),
    );
    return await trial.run(routes, changes, report);
  } finally {
    await cluster.stop();
  }
}

class ScaleTrial {
  readonly #cluster: Cluster;
  readonly #controller: InstalledController;
  readonly #key: SigningKey;
  readonly #address: string;
  readonly #agent = new Agent({ connections: 16, pipelining: 1 });

  constructor(cluster: Cluster, controller: InstalledController, key: SigningKey, address: string) {
    this.#cluster = cluster;
    this.#controller = controller;
    this.#key = key;
    this.#address = address;
  }

  async run(routes: number, changes: number, report: (line: string) => void): Promise<ScaleResult> {
    const empty = await this.#readUsages();
    const startedAt = performance.now();
    await this.#apply(routes, report);
    const appliedAt = performance.now();
    report(`applied after ${Math.round(appliedAt - startedAt)} ms`);
    await this.#waitUntilEnforced(routes);
    const enforcedMs = performance.now() - appliedAt;
    report(`enforced after ${Math.round(enforcedMs)} ms`);
    await this.#waitUntilTold(routes);
    const toldMs = performance.now() - appliedAt;
    report(`told after ${Math.round(toldMs)} ms`);
    await this.#waitUntilQuiet();
    const full = await this.#readUsages();

    const changeMs: number[] = [];
    const changeToldMs: number[] = [];
    const changeBytes: number[] = [];
    for (let index = 0; index < changes; index += 1) {
      const before = await this.#readPushedBytes();
      const { enforced, told } = await this.#change((index * 977) % routes, `change-${index}`);
      changeMs.push(enforced);
      changeToldMs.push(told);
      changeBytes.push((await this.#readPushedBytes()) - before);
      report(
        `change ${index + 1} of ${changes}: enforced after ${Math.round(enforced)} ms, told after ${Math.round(told)} ms`,
      );
      await sleep(300);
    }
    report(`waiting ${restSeconds} s for memory to come to rest`);
    await sleep(restSeconds * 1_000);
    const last = await this.#readUsages();
    const configurationBytes = await this.#controller.readMetric('mcp_gateway_controller_config_bytes');
    await this.#agent.close();
    const ascending = (values: readonly number[]): readonly number[] => values.toSorted((a, b) => a - b);
    return {
      routes,
      applyMs: appliedAt - startedAt,
      enforcedMs,
      toldMs,
      configurationBytes,
      changeMs: ascending(changeMs),
      changeToldMs: ascending(changeToldMs),
      changeBytes: ascending(changeBytes)[Math.floor(changes / 2)] ?? 0,
      controller: summarize(empty.controller, full.controller, last.controller, changes),
      gateway: summarize(empty.gateway, full.gateway, last.gateway, changes),
    };
  }

  /** The policy of a route is there before the route. */
  async #apply(routes: number, report: (line: string) => void): Promise<void> {
    let next = 0;
    const write = async (): Promise<void> => {
      for (let index = next++; index < routes; index = next++) {
        const policy = createPolicy(`p${index}`, { kind: 'HTTPRoute', name: `r${index}` }, this.#protect(index));
        const route = createRoute(`r${index}`, { path: `/r${index}`, to: toService('echo') });
        await this.#cluster.api.create(locateResources('ProxyPolicy', 'default'), policy);
        await this.#cluster.api.create(locateResources('HTTPRoute', 'default'), route);
        if ((index + 1) % 1_000 === 0) report(`${index + 1} applied`);
      }
    };
    await Promise.all(Array.from({ length: writers }, write));
  }

  #protect(index: number, ...more: readonly string[]): object {
    const jwks = { inline: JSON.stringify({ keys: [this.#key.publicJwk] }) };
    const matchExpressions = [groupOf(index), ...more].map((group) => `"${group}" in jwt.groups`);
    return {
      traffic: {
        jwtAuthentication: { providers: [{ name: 'company', issuer, audiences: ['api'], jwks }] },
        authorization: { action: 'Allow', policy: { matchExpressions } },
      },
    };
  }

  /** Every route: strangers are refused, its own group is let in. */
  async #waitUntilEnforced(routes: number): Promise<void> {
    let waiting = Array.from({ length: routes }, (_, index) => index);
    while (waiting.length > 0) {
      // The last one first: while that is not there, there is no need to ask for the others.
      const last = waiting.at(-1)!;
      const token = await this.#createToken(groupOf(last));
      if ((await this.#ask(last)) !== 401 || (await this.#ask(last, token)) !== 200) {
        await sleep(20);
        continue;
      }
      const strangers = await Promise.all(waiting.map(async (index) => ({ index, status: await this.#ask(index) })));
      const odd = strangers.find(({ status }) => status !== 401 && status !== 404);
      if (odd !== undefined) throw new Error(`/r${odd.index} answered a stranger with ${odd.status}`);
      waiting = strangers.filter(({ status }) => status !== 401).map(({ index }) => index);
    }
  }

  async #waitUntilTold(routes: number): Promise<void> {
    for (const kind of ['HTTPRoute', 'ProxyPolicy'])
      await this.#cluster.waitFor(
        async () =>
          (await this.#controller.readMetric('mcp_gateway_controller_status_pending')) === 0 &&
          (await this.#cluster.api.list(locateResources(kind, 'default'))).filter(isTold).length === routes,
        { what: `every ${kind} is told`, timeoutMs: 300_000, intervalMs: 200 },
      );
  }

  async #change(index: number, group: string): Promise<{ enforced: number; told: number }> {
    const path = locateResource({ kind: 'ProxyPolicy', name: `p${index}` });
    const token = await this.#createToken(group);
    if ((await this.#ask(index, token)) !== 403) throw new Error(`/r${index} lets ${group} in before the change`);
    await this.#cluster.api.patch(path, { spec: this.#protect(index, group) });
    const madeAt = performance.now();
    while ((await this.#ask(index, token)) !== 200) await sleep(5);
    const enforced = performance.now() - madeAt;
    while (!isTold(await this.#cluster.api.get(path))) await sleep(5);
    return { enforced, told: performance.now() - madeAt };
  }

  async #ask(index: number, token?: string): Promise<number> {
    const answer = await request(`http://${this.#address}/r${index}`, {
      dispatcher: this.#agent,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    await answer.body.dump();
    return answer.statusCode;
  }

  #createToken(group: string): Promise<string> {
    return new SignJWT({ groups: [group] })
      .setProtectedHeader({ alg: this.#key.alg, kid: this.#key.kid })
      .setIssuer(issuer)
      .setSubject('alice')
      .setAudience('api')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(this.#key.privateKey);
  }

  #readPushedBytes(): Promise<number> {
    return this.#controller.readMetric('mcp_gateway_controller_xds_pushed_bytes_total');
  }

  async #readUsages(): Promise<{ controller: ProcessUsage; gateway: ProcessUsage }> {
    const [controller] = await this.#controller.listPods();
    const [gateway] = await listGatewayPods(this.#cluster, 'web');
    const read = (name: ContainerName): Promise<ProcessUsage> => this.#cluster.readUsage(name);
    return {
      controller: await read({ namespace: installationNamespace, pod: controller!.metadata.name }),
      gateway: await read({ namespace: 'default', pod: gateway!.metadata.name }),
    };
  }

  /** Until neither process does anything for two seconds. */
  async #waitUntilQuiet(): Promise<void> {
    for (let before = await this.#readUsages(); ;) {
      await sleep(2_000);
      const now = await this.#readUsages();
      const used = (which: 'controller' | 'gateway'): number => now[which].cpuSeconds - before[which].cpuSeconds;
      if (used('controller') < 0.05 && used('gateway') < 0.05) return;
      before = now;
    }
  }
}

interface Told {
  readonly status: string;
  readonly observedGeneration?: number;
}

/** Whether all conditions of a route or policy are there, well, and about what it is now. */
function isTold(object: ApiObject): boolean {
  const { parents, ancestors } = (object['status'] ?? {}) as Record<string, readonly { conditions: readonly Told[] }[]>;
  const conditions = (parents ?? ancestors ?? []).flatMap((parent) => parent.conditions);
  const isWell = (each: Told): boolean =>
    each.status === 'True' && each.observedGeneration === object.metadata.generation;
  return conditions.length > 0 && conditions.every(isWell);
}

function summarize(empty: ProcessUsage, full: ProcessUsage, last: ProcessUsage, changes: number): MeasuredProcess {
  return {
    emptyBytes: empty.residentBytes,
    peakBytes: last.peakResidentBytes,
    residentBytes: last.residentBytes,
    cpuSeconds: full.cpuSeconds - empty.cpuSeconds,
    cpuMsPerChange: ((last.cpuSeconds - full.cpuSeconds) * 1000) / changes,
  };
}
