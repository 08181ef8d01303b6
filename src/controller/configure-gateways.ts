// Turns resources into the configuration of gateways: translates, slices by Gateway, adds seal keys and signing keys, builds a snapshot for each, and gives the xDS server
// those that changed. Pure except for that last step: the same resources give the same snapshots on every replica.
import type { Resources } from '../api/resources.ts';
import type { Log } from '../base/log.ts';
import { nameDeployed } from '../deploy/deployed-names.ts';
import type { KeyOwner } from '../deploy/key-owner.ts';
import type { AcknowledgedKeys } from '../deploy/plan-signing-keys.ts';
import { type Configuration, emptyConfiguration } from '../ir/configuration.ts';
import { usesSealKeys } from '../ir/seal-keys.ts';
import { needsSigningKeys } from '../ir/signing-keys.ts';
import { sliceConfiguration, type Slices } from '../translate/slice-configuration.ts';
import type { Translation } from '../translate/translate.ts';
import { buildSnapshot, type Snapshot, type TypeResources } from '../xds/snapshot.ts';
import type { XdsServer } from '../xds/server.ts';
import type { ServiceAccountLookup } from './authorize-peer.ts';
import type { SealKeyMessages } from './seal-key-messages.ts';
import type { SigningKeyMessages } from './signing-key-messages.ts';
import type { SnapshotHistory } from './snapshot-history.ts';

interface GatewayConfiguratorOptions {
  readonly log: Log;
  readonly server: Pick<XdsServer, 'setSnapshot'>;
  readonly history: SnapshotHistory;
  readonly sealKeys: SealKeyMessages;
  /** Undefined: gateways are not served over TLS, and get none. */
  readonly signingKeys: SigningKeyMessages | undefined;
  readonly translate: (resources: Resources) => Translation;
  readonly onTranslated: (durationMs: number) => void;
}

/** The result of one round. */
interface ConfiguredGateways {
  readonly translation: Translation;
  /** Gateways that need seal keys, whether or not the keys exist already. */
  readonly sealKeyOwners: readonly KeyOwner[];
  /** The same for signing keys; none without TLS. */
  readonly signingKeyOwners: readonly KeyOwner[];
  /** The signing keys in the present snapshots, by Gateway. */
  readonly signingKeys: ReadonlyMap<string, AcknowledgedKeys>;
  /** Gateways whose snapshot could not be built; they keep the previous one. */
  readonly failures: number;
}

/** Builds the configuration of every Gateway. */
export class GatewayConfigurator {
  readonly #options: GatewayConfiguratorOptions;
  readonly #loggedErrors = new Map<string, string>();
  /** A cache by list: lists that did not change are the same objects. */
  readonly #sizes = new WeakMap<TypeResources, Size>();
  #slices: Slices = new Map();
  #served: ReadonlySet<string> = new Set();
  #identities: ReadonlyMap<string, GatewayIdentity> | undefined;

  constructor(options: GatewayConfiguratorOptions) {
    this.#options = options;
  }

  configure(resources: Resources): ConfiguredGateways {
    const { server, history, sealKeys, signingKeys, translate, onTranslated } = this.#options;
    const startedAt = performance.now();
    const translation = translate(resources);
    this.#slices = sliceConfiguration(translation.configuration, this.#slices);
    onTranslated(performance.now() - startedAt);

    const identities = identifyGateways(resources);
    const addSealKeys = sealKeys.createAdder(resources);
    const sealKeyOwners: KeyOwner[] = [];
    const findSigningKeys = signingKeys?.createFinder(resources);
    const signingKeyOwners: KeyOwner[] = [];
    const sentSigningKeys = new Map<string, AcknowledgedKeys>();
    const served = new Set<string>();
    let failures = 0;
    // A Gateway that cannot be deployed as configured is held: its existing pods go on serving it.
    for (const { name } of [...translation.plans, ...translation.held]) {
      served.add(name);
      let configuration = this.#slices.get(name) ?? emptyConfiguration;
      const owner = identities.get(name)?.owner;
      if (owner !== undefined && usesSealKeys(configuration)) {
        sealKeyOwners.push(owner);
        configuration = addSealKeys(configuration, owner);
      }
      const isSigning = owner !== undefined && findSigningKeys !== undefined && needsSigningKeys(configuration);
      const sent = isSigning ? findSigningKeys(owner) : undefined;
      if (isSigning) signingKeyOwners.push(owner);
      if (sent !== undefined) configuration = { ...configuration, secrets: [...configuration.secrets, sent.message] };
      if (!this.#putSnapshot(name, configuration)) failures += 1;
      else if (sent !== undefined) sentSigningKeys.set(name, sent.keys);
    }
    for (const name of this.#served) {
      if (served.has(name)) continue;
      // Deleted, or no longer ours. Processes that still run for it keep their configuration.
      server.setSnapshot(name, undefined);
      history.forget(name);
      this.#loggedErrors.delete(name);
    }
    this.#served = served;
    this.#identities = identities;
    return { translation, sealKeyOwners, signingKeyOwners, signingKeys: sentSigningKeys, failures };
  }

  /** The ServiceAccount of a Gateway's pods. */
  findServiceAccount(gateway: string): ServiceAccountLookup {
    if (this.#identities === undefined) return { state: 'not-synced' };
    const name = this.#served.has(gateway) ? this.#identities.get(gateway)?.serviceAccount : undefined;
    return name === undefined ? { state: 'unknown' } : { state: 'known', name };
  }

  /** namespace/name of a Gateway's Service; undefined: the Gateway is not ours. */
  findService(gateway: string): string | undefined {
    // All objects of a Gateway have one name.
    const account = this.findServiceAccount(gateway);
    return account.state === 'known' ? `${gateway.slice(0, gateway.indexOf('/'))}/${account.name}` : undefined;
  }

  /** The size of all snapshots together. */
  measure(): Size {
    let [messages, bytes] = [0, 0];
    for (const name of this.#served) {
      for (const resources of this.#options.history.findSnapshot(name)?.resources.values() ?? []) {
        const size = this.#sizes.get(resources) ?? measureResources(resources);
        this.#sizes.set(resources, size);
        messages += size.messages;
        bytes += size.bytes;
      }
    }
    return { messages, bytes };
  }

  /** A Gateway whose snapshot cannot be built keeps its previous one; the other Gateways are not affected. */
  #putSnapshot(name: string, configuration: Configuration): boolean {
    const { server, history, log } = this.#options;
    const before = history.findSnapshot(name);
    let snapshot: Snapshot;
    try {
      snapshot = buildSnapshot(configuration, before);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (this.#loggedErrors.get(name) !== message)
        log.error(
          { err: error, gateway: name },
          'the configuration of a Gateway cannot be built; the Gateway keeps the previous one',
        );
      this.#loggedErrors.set(name, message);
      return false;
    }
    this.#loggedErrors.delete(name);
    if (snapshot === before) return true;
    history.note(name, snapshot);
    server.setSnapshot(name, snapshot);
    return true;
  }
}

interface Size {
  readonly messages: number;
  readonly bytes: number;
}

function measureResources(resources: TypeResources): Size {
  let bytes = 0;
  for (const resource of resources.values()) bytes += resource.bytes.length;
  return { messages: resources.size, bytes };
}

/** What identifies a Gateway and its pods. */
interface GatewayIdentity {
  readonly owner: KeyOwner | undefined;
  readonly serviceAccount: string;
}

/** By namespace/name. Invalid Gateways are included: they may have pods, too. */
function identifyGateways({ gateways, invalid }: Resources): ReadonlyMap<string, GatewayIdentity> {
  const identities = new Map<string, GatewayIdentity>();
  const add = (namespace: string, name: string, uid: unknown, className: unknown): void => {
    if (typeof className !== 'string') return;
    const owner = typeof uid === 'string' ? { namespace, name, uid } : undefined;
    identities.set(`${namespace}/${name}`, { owner, serviceAccount: nameDeployed(name, className) });
  };
  for (const { metadata, spec } of gateways)
    add(metadata.namespace, metadata.name, metadata.uid, spec.gatewayClassName);
  for (const { kind, namespace, name, raw } of invalid) {
    if (kind !== 'Gateway') continue;
    const { metadata, spec } = (raw ?? {}) as { readonly metadata?: { uid?: unknown }; readonly spec?: RawGatewaySpec };
    add(namespace, name, metadata?.uid, spec?.gatewayClassName);
  }
  return identities;
}

interface RawGatewaySpec {
  readonly gatewayClassName?: unknown;
}
