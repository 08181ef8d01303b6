// Keeps the signing keys of each Gateway that issues tokens: made once, rotated by the plan of plan-signing-keys.ts. Run by the leader.
import { systemClock } from '../base/clock.ts';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { nameSigningKeySecret } from './deployed-names.ts';
import { type KeyKeeper, type KeyKeeperOptions, type KeysTended, startKeyKeeper } from './key-keeper.ts';
import type { KeyOwner } from './key-owner.ts';
import { type AcknowledgedKeys, planSigningKeys, type SigningKeyPlan, takeStep } from './plan-signing-keys.ts';
import {
  isRotationRequested,
  readSigningKeyObject,
  renderSigningKeySecret,
  replaceSigningKeys,
  signingKeysLabel,
} from './signing-key-secret.ts';

/** Keeps signing keys. */
export interface SigningKeyKeeper extends KeyKeeper {
  /** By namespace/name of the Gateway: the keys that all of its gateways have. One that is missing has gateways that have not answered. */
  setAcknowledged(acknowledged: ReadonlyMap<string, AcknowledgedKeys>): void;
}

/** At the latest after this, the plan is looked at again: clocks are set, machines sleep. */
const longestWaitMs = 3_600_000;

const said: Readonly<Record<Exclude<SigningKeyPlan['step'], 'wait'>, string>> = {
  date: 'noted since when the signing key signs',
  prepare: 'made the next signing key; it signs when every gateway has it',
  switch: 'every gateway has the next signing key; it signs from now on',
  retire: 'no gateway signs with the previous signing key any more; it stays published until its tokens have expired',
  forget: 'removed the previous signing key: its tokens have expired',
};

/** Starts to reconcile signing keys. */
export function startSigningKeyKeeper(options: KeyKeeperOptions): SigningKeyKeeper {
  const { client, log, installationNamespace, clock = systemClock } = options;
  let acknowledged: ReadonlyMap<string, AcknowledgedKeys> = new Map();

  async function tend(secret: KubernetesObject, owner: KeyOwner, signal: AbortSignal): Promise<KeysTended> {
    const read = readSigningKeyObject(secret);
    // Nothing of it is in use then (signing-key-messages.ts says so), and people have to look at it.
    if (!read.ok) return { waitMs: undefined };
    const gateway = `${owner.namespace}/${owner.name}`;
    const now = clock.now();
    const isRequested = isRotationRequested(secret);
    const plan = planSigningKeys(read.keys, { now, isRequested, acknowledged: acknowledged.get(gateway) });
    if (plan.step === 'wait')
      return {
        waitMs: plan.until === undefined ? undefined : Math.min(Math.max(plan.until - now, 0), longestWaitMs),
      };
    // Who asks while a rotation is under way gets the key of this one.
    const isAnswered = plan.step === 'prepare' || plan.step === 'switch';
    const written = await client.replace(
      resourceTypes.Secret,
      replaceSigningKeys(secret, takeStep(read.keys, plan.step, now), { isAnswered }),
      signal,
    );
    log.info({ gateway, object: secret.metadata.name }, said[plan.step]);
    return { written };
  }

  const keeper = startKeyKeeper(
    {
      what: 'signing keys',
      label: signingKeysLabel,
      nameSecret: nameSigningKeySecret,
      render: (owner) => renderSigningKeySecret(owner, installationNamespace, clock.now()),
      tend,
    },
    options,
  );
  return {
    reconcile: (gateways) => keeper.reconcile(gateways),
    setAcknowledged(next) {
      const before = acknowledged;
      acknowledged = next;
      for (const [gateway, keys] of next) {
        if (isSame(before.get(gateway), keys)) continue;
        const slash = gateway.indexOf('/');
        keeper.look(gateway.slice(0, slash), gateway.slice(slash + 1));
      }
    },
    stop: () => keeper.stop(),
  };
}

function isSame(left: AcknowledgedKeys | undefined, right: AcknowledgedKeys): boolean {
  return (
    left !== undefined &&
    left.active === right.active &&
    left.kids.length === right.kids.length &&
    left.kids.every((kid, index) => kid === right.kids[index])
  );
}
