import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { emptyResources } from '../api/resources.ts';
import { Watchable } from '../base/watchable.ts';
import type { DeployResult } from '../deploy/deployer.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { LeaderDuties, type LeaderWork } from './leader-duties.ts';

const result = (address: string): DeployResult => ({
  problem: undefined,
  addressProblem: undefined,
  addresses: [{ type: 'IPAddress', value: address }],
  replicas: undefined,
  rollout: undefined,
});

/** Work with Gateways by name and uid; the latter with a generation at its end. */
function plan(gateways: Readonly<Record<string, string>>): LeaderWork {
  const plans = Object.entries(gateways).map(([name, form]) => {
    const [uid, generation = 1] = form.split('/');
    return { name, gateway: { metadata: { uid, generation: Number(generation) } } };
  });
  const deploy = { plans: plans as unknown as readonly GatewayPlan[], held: [], settings: {} };
  return {
    resources: emptyResources,
    deploy: deploy as unknown as LeaderWork['deploy'],
    sealKeyOwners: [],
    signingKeyOwners: [],
  };
}

/** Duties whose deployers say what a test makes them say. */
function create() {
  const deployers: Watchable<ReadonlyMap<string, DeployResult>>[] = [];
  const state = { term: 0 };
  const idle = { start() {}, async stop() {}, look() {} };
  const duties = new LeaderDuties({
    writer: idle,
    classKeeper: idle,
    leftNamespaces: idle,
    startDeployer() {
      const results = new Watchable<ReadonlyMap<string, DeployResult>>(new Map());
      deployers.push(results);
      return { results, reconcile() {}, async stop() {} };
    },
    startSealKeyKeeper: () => ({ reconcile() {}, async stop() {} }),
    startSigningKeyKeeper: () => ({ reconcile() {}, setAcknowledged() {}, async stop() {} }),
    readTermNumber: () => state.term,
    onDeployed() {},
    onDeployProblem() {},
  });
  const say = (results: Readonly<Record<string, DeployResult>>): void =>
    void deployers.at(-1)!.set(new Map(Object.entries(results)));
  return { duties, state, say };
}

describe('what is deployed', () => {
  test('is known after a break in which nobody else led, until it is known anew', async () => {
    const { duties, say } = create();
    duties.setWork(plan({ a: '1', b: '2' }));
    duties.start();
    assert.deepEqual([...duties.deployed], []);
    const [a, b] = [result('10.0.0.1'), result('10.0.0.2')];
    say({ a, b });
    await duties.stop();
    assert.deepEqual([...duties.deployed], [], 'who does not lead says nothing');
    duties.start();
    assert.deepEqual(new Map(duties.deployed), new Map(Object.entries({ a, b })));
    const moved = result('10.0.0.3');
    say({ a: moved });
    assert.deepEqual(new Map(duties.deployed), new Map(Object.entries({ a: moved, b })));
    say({ a: moved, b: moved });
    assert.deepEqual(new Map(duties.deployed), new Map(Object.entries({ a: moved, b: moved })));
    // What is gone from then on is gone.
    say({ a: moved });
    assert.deepEqual([...duties.deployed.keys()], ['a']);
  });

  test('is not known when another replica has led meanwhile', async () => {
    const { duties, state, say } = create();
    duties.setWork(plan({ a: '1' }));
    duties.start();
    say({ a: result('10.0.0.1') });
    await duties.stop();
    state.term += 2;
    duties.start();
    assert.deepEqual([...duties.deployed], []);
  });

  test('is not known of Gateways that went, were made anew or changed, in the break or after it', async () => {
    const { duties, say } = create();
    duties.setWork(plan({ a: '1', b: '2', c: '3', d: '4', e: '5' }));
    duties.start();
    const same = result('10.0.0.1');
    say({ a: same, b: same, c: same, d: same, e: same });
    await duties.stop();
    duties.setWork(plan({ a: '1', b: 'another', d: '4', e: '5/2' }));
    duties.start();
    assert.deepEqual([...duties.deployed.keys()], ['a', 'd']);
    duties.setWork(plan({ a: '1', d: '4/2' }));
    assert.deepEqual([...duties.deployed.keys()], ['a']);
  });
});
