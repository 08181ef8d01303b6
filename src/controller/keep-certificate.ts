// Makes the Secret with the xDS certificate when there is none, and renews what it made, by the plan of plan-certificate.ts. Every replica may make it (the first
// one wins); only the leader changes it, and nobody changes one of somebody else.
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';
import type { KubernetesClient, KubernetesObject } from '../kubernetes/client.ts';
import type { Leadership } from '../kubernetes/leader-election.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { certificateSecretName, readCertificateFiles, renderMadeCertificate } from './certificate-secret.ts';
import type { CertificateState } from './choose-certificate.ts';
import { makeCertificate, type MadeCertificate } from './make-certificate.ts';
import { backdateMs, joinAuthorities, planCertificate, validityMs } from './plan-certificate.ts';
import { SecretTask } from './secret-task.ts';
import type { SecretSighting } from './watch-secret.ts';
import type { CertificateReading, CertificateSource } from './xds-certificate.ts';

interface CertificateKeeperOptions {
  readonly client: Pick<KubernetesClient, 'create'>;
  /** Writes only while this replica leads. */
  readonly leaderClient: Pick<KubernetesClient, 'replace'>;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: () => number;
  readonly namespace: string;
  readonly serviceName: string;
  readonly secret: ReadonlyWatchable<SecretSighting>;
  /** Known before anything is made: gateways may trust the authority of the copy. */
  readonly copy: ReadonlyWatchable<SecretSighting>;
  readonly certificate: ReadonlyWatchable<CertificateState>;
  readonly leadership: ReadonlyWatchable<Leadership>;
}

/** At the latest after this, the plan is looked at again: clocks are set, machines sleep. */
const longestWaitMs = 3_600_000;

/** The names of the controller's Service; gateways use the first one. */
export function listServiceNames(serviceName: string, namespace: string): readonly [string, ...string[]] {
  const name = `${serviceName}.${namespace}`;
  return [`${name}.svc`, `${name}.svc.cluster.local`, name, serviceName];
}

/** The Secret as a source of the certificate. */
export class CertificateOfSecret implements CertificateSource {
  readonly place: string;
  readonly mayTear = false;
  readonly #secret: ReadonlyWatchable<SecretSighting>;
  #unsubscribe: (() => void) | undefined;

  constructor(secret: ReadonlyWatchable<SecretSighting>, namespace: string) {
    this.#secret = secret;
    this.place = `Secret ${namespace}/${certificateSecretName}`;
  }

  read(): Promise<CertificateReading> {
    return Promise.resolve(describeSighting(this.#secret.get()));
  }

  follow(onChange: () => void): void {
    this.#unsubscribe = this.#secret.subscribe(onChange);
  }

  stop(): void {
    this.#unsubscribe?.();
  }
}

function describeSighting(sighting: SecretSighting): CertificateReading {
  switch (sighting.state) {
    case 'present':
      return { files: readCertificateFiles(sighting.object) };
    case 'absent':
      return { problem: 'it is not there, and is being made', isPending: true };
    case 'unknown':
      return sighting.reason === undefined
        ? { problem: 'it has not been read yet', isPending: true }
        : { problem: `it cannot be read: ${sighting.reason}` };
  }
}

/** Keeps the Secret until it is stopped. */
export function startCertificateKeeper(options: CertificateKeeperOptions): { stop(): Promise<void> } {
  const { client, leaderClient, log, clock, random, namespace, serviceName, secret, copy, leadership } = options;
  const names = listServiceNames(serviceName, namespace);
  const make = (): MadeCertificate => {
    const now = clock.now();
    return makeCertificate({ names, validFrom: now - backdateMs, validTo: now + validityMs });
  };
  /** With the authority that gateways may have now: replicas show the certificate before for a moment. */
  const makeForAll = (): MadeCertificate => {
    const state = options.certificate.get();
    const made = make();
    const earlier = state.state === 'none' ? '' : state.certificate.ca;
    return { ...made, ca: joinAuthorities(made.ca, earlier, clock.now()) };
  };
  const replace = (object: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject> =>
    leaderClient.replace(resourceTypes.Secret, object, signal);

  async function keep(signal: AbortSignal): Promise<number | undefined> {
    const sighting = secret.get();
    if (sighting.state === 'unknown' || copy.get().state === 'unknown') return undefined;
    const seen = sighting.state === 'present' ? sighting.object : undefined;
    const plan = planCertificate(seen, names[0], clock.now());
    const object = certificateSecretName;
    if (plan.step === 'wait')
      return plan.until === undefined ? undefined : Math.min(Math.max(plan.until - clock.now(), 0), longestWaitMs);
    if (plan.step === 'make') {
      await client.create(resourceTypes.Secret, renderMadeCertificate(makeForAll(), namespace, undefined), signal);
      log.info({ object }, 'made the xDS certificate');
      return undefined;
    }
    if (leadership.get().role !== 'leader') return longestWaitMs;
    switch (plan.step) {
      case 'replace':
        await replace(renderMadeCertificate(makeForAll(), namespace, seen), signal);
        log.warn({ object, reason: plan.problem }, 'made the xDS certificate anew');
        break;
      case 'prepare': {
        const next = make();
        const ca = joinAuthorities(next.ca, plan.current.ca, clock.now());
        await replace(renderMadeCertificate({ ...plan.current, ca }, namespace, seen, next), signal);
        log.info({ object }, 'made the next xDS certificate; gateways get its authority before it is used');
        break;
      }
      case 'switch':
        await replace(renderMadeCertificate(plan.next, namespace, seen), signal);
        log.info({ object }, 'the next xDS certificate is in use');
        break;
    }
    return undefined;
  }

  return new SecretTask({
    log,
    clock,
    random,
    failure: 'the xDS certificate could not be made or renewed',
    triggers: [secret, copy, leadership],
    run: keep,
  });
}
