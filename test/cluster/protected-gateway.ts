// A gateway with a route that only tokens open, a steady load on it, and the proof after a fault that a change still gets all the way: from the API
// server to every gateway process, and back into the status.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { SignJWT } from 'jose';
import { createSigningKey, type SigningKey } from '../idp/signing-keys.ts';
import type { Cluster } from './cluster.ts';
import { createEcho, createGateway, createPolicy, createRoute, toService } from './cluster-resources.ts';
import { listGatewayPods, waitUntilReachable } from './deployed-gateway.ts';
import { readNamespace } from './file-namespace.ts';
import type { PodObject } from './observed-pod.ts';
import { waitForCondition, waitUntilWell } from './resource-conditions.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';
import { startSteadyLoad, type SteadyLoad } from './steady-load.ts';

const issuer = 'https://idp.example.com';

/** The policy that protects the route. */
export const protectingPolicy: ResourceName = { kind: 'ProxyPolicy', name: 'guard' };

/** A change of the policy that is on its way. */
export interface PolicyChange {
  /** A token for this audience is what the change lets in. */
  readonly audience: string;
  readonly madeAt: number;
}

/** The gateway, its route /guarded, and its policy. */
export class ProtectedGateway {
  readonly #cluster: Cluster;
  readonly #key: SigningKey;
  /** Of the load balancer. */
  readonly address: string;
  #changes = 0;
  #longestToldMs = 0;

  constructor(cluster: Cluster, key: SigningKey, address: string) {
    this.#cluster = cluster;
    this.#key = key;
    this.address = address;
  }

  /** About fifty requests a second, five of them of strangers. It ends with the test at the latest. */
  async startLoad(t: TestContext): Promise<SteadyLoad> {
    const authorization = `Bearer ${await this.#createToken('api')}`;
    const load = startSteadyLoad(`http://${this.address}/guarded`, {
      clients: 9,
      strangers: 1,
      pauseMs: 190,
      headers: { authorization },
    });
    t.after(() => load.stop());
    await load.waitForMore(50);
    return load;
  }

  /** Ends a load under which a fault happened: nobody has noticed anything. Says how many there were that could have. */
  async expectUnharmed(t: TestContext, load: SteadyLoad): Promise<void> {
    await load.waitForMore(50);
    await load.stop();
    const { completed, refused, resent, failures, letThrough } = load;
    t.diagnostic(
      `${completed + refused} requests, ${failures.length} failed, ${resent} sent again, ${letThrough.length} of ${refused} strangers let through; the status told of a change after ${this.#longestToldMs} ms at most`,
    );
    assert.deepEqual(letThrough, []);
    assert.deepEqual(failures, []);
  }

  /** Edits the policy: from then on another audience is let in as well, and the one of the change before is not. */
  async change(): Promise<PolicyChange> {
    this.#changes += 1;
    const audience = `change-${this.#changes}`;
    const traffic = this.#protect(['api', audience]);
    await this.#cluster.waitFor(
      () => this.#cluster.api.patch(locateResource(protectingPolicy), { spec: { traffic } }),
      { what: 'the API server takes the change' },
    );
    return { audience, madeAt: performance.now() };
  }

  /**
   * Waits until all processes enforce a change, and the status says so. What was let in before must be refused by every pod from the moment on in which the status
   * promises that. `pods`: those that there are, where the API server may take its time to say; none: it is asked.
   */
  async expectChange(t: TestContext, { audience, madeAt }: PolicyChange, pods?: readonly PodObject[]): Promise<void> {
    const since = (): number => Math.round(performance.now() - madeAt);
    const revoked = await this.#createToken(`change-${this.#changes - 1}`);
    const [enforced, { told, passed }] = await Promise.all([
      this.#cluster.waitFor(async () => (await this.isEnforced(audience, pods)) && since(), {
        what: `every pod enforces ${audience}`,
      }),
      this.#waitUntilTold(revoked, since, pods),
    ]);
    this.#longestToldMs = Math.max(this.#longestToldMs, told);
    t.diagnostic(
      `the change was enforced after ${enforced} ms, and told after ${told} ms; ${passed} revoked requests passed at that moment`,
    );
    assert.equal(passed, 0, 'the status promised what was not so');
    for (const { status } of pods ?? (await this.listPods()))
      assert.equal(
        await this.ask(status.podIP ?? '', revoked),
        401,
        'what was let in before the change is not any more',
      );
  }

  /** When the status says that the change is programmed, and how many of the pods that take traffic still let in what it revoked. */
  async #waitUntilTold(
    revoked: string,
    since: () => number,
    pods?: readonly PodObject[],
  ): Promise<{ readonly told: number; readonly passed: number }> {
    await waitForCondition(this.#cluster, protectingPolicy, { type: 'Programmed', status: 'True' });
    const told = since();
    const asked = pods ?? (await this.listPods()).filter(isReady);
    // A pod that does not answer lets nobody in.
    const answers = await Promise.all(asked.map(({ status }) => this.ask(status.podIP ?? '', revoked).catch(() => 0)));
    return { told, passed: answers.filter((status) => status === 200).length };
  }

  /** Changes something, and waits until it is in force and told. */
  async proveChange(t: TestContext, pods?: readonly PodObject[]): Promise<void> {
    await this.expectChange(t, await this.change(), pods);
  }

  /** Whether all processes let an audience in. */
  async isEnforced(audience: string, pods?: readonly PodObject[]): Promise<boolean> {
    const token = await this.#createToken(audience);
    const addresses = (pods ?? (await this.listPods())).map(({ status }) => status.podIP ?? '');
    const answers = await Promise.all(addresses.map((address) => this.ask(address, token)));
    return answers.length > 0 && answers.every((status) => status === 200);
  }

  /** The status of an answer to a token for this audience. */
  async askAs(audience: string, address = this.address): Promise<number> {
    return this.ask(address, await this.#createToken(audience));
  }

  /** The status of an answer. */
  async ask(address: string, token?: string): Promise<number> {
    const headers = { connection: 'close', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    const answer = await fetch(`http://${address}/guarded`, { headers, signal: AbortSignal.timeout(10_000) });
    await answer.text();
    return answer.status;
  }

  listPods(): Promise<readonly PodObject[]> {
    return listGatewayPods(this.#cluster, 'web');
  }

  /** A metric of a gateway process. */
  async readMetric(pod: PodObject, name: string): Promise<number> {
    const port = 15020;
    const text = await (await fetch(`http://${pod.status.podIP ?? ''}:${port}/metrics`)).text();
    return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
  }

  #protect(audiences: readonly string[]): object {
    return protect(this.#key, audiences);
  }

  #createToken(audience: string): Promise<string> {
    return new SignJWT({})
      .setProtectedHeader({ alg: this.#key.alg, kid: this.#key.kid })
      .setIssuer(issuer)
      .setSubject('alice')
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(this.#key.privateKey);
  }
}

const isReady = ({ status }: PodObject): boolean =>
  status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

function protect(key: SigningKey, audiences: readonly string[]): object {
  const jwks = { inline: JSON.stringify({ keys: [key.publicJwk] }) };
  return { jwtAuthentication: { providers: [{ name: 'company', issuer, audiences, jwks }] } };
}

/** Deploys it with as many pods and further parameters as wanted, and waits until all are well. The controller is there already. */
export async function deployProtectedGateway(
  cluster: Cluster,
  replicas = 1,
  parameters: object = {},
): Promise<ProtectedGateway> {
  const key = await createSigningKey();
  await cluster.apply([
    ...createEcho('echo'),
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'GatewayParameters',
      metadata: { name: 'web', namespace: readNamespace() },
      spec: { replicas, shutdown: { drain: '5s' }, ...parameters },
    },
    createGateway('web', {
      infrastructure: { parametersRef: { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'web' } },
    }),
    createPolicy(protectingPolicy.name, { kind: 'HTTPRoute', name: 'guarded' }, { traffic: protect(key, ['api']) }),
  ]);
  await cluster.apply(createRoute('guarded', { path: '/guarded', to: toService('echo') }));
  await waitUntilWell(cluster, [
    { kind: 'Gateway', name: 'web' },
    { kind: 'HTTPRoute', name: 'guarded' },
    protectingPolicy,
  ]);
  const gateway = new ProtectedGateway(cluster, key, await waitUntilReachable(cluster, 'web'));
  await cluster.waitFor(
    async () => (await gateway.isEnforced('api')) && (await gateway.listPods()).length === replicas,
    {
      what: 'every pod serves the route',
    },
  );
  return gateway;
}
