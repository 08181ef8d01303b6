// The resources that a gateway has received, with their versions, and their digest. A resource that cannot be read is rejected alone; its last good
// version stays, but an unreadable policy blocks what it was meant to protect (fail closed).
import { create, fromBinary } from '@bufbuild/protobuf';
import type { Configuration } from '../ir/configuration.ts';
import {
  type Policy,
  PolicySchema,
  type PolicyTarget,
  PolicyTargetKind,
  PolicyTargetSchema,
} from '../ir/gen/config_pb.ts';
import type { DeltaDiscoveryResponse, Resource } from '../ir/gen/discovery_pb.ts';
import { Digest } from './digest.ts';
import { type ResourceMessage, type ResourceType, resourceTypes } from './resource-types.ts';
import { findUnknownContent } from './unknown-content.ts';

/** One resource. Never changed: another version is another object. */
export interface HeldResource {
  readonly name: string;
  /** From the server; empty: the server has to send the resource again. */
  readonly version: string;
  /** The message in use; undefined: none. */
  readonly message: ResourceMessage | undefined;
  /** Why this version cannot be read; undefined: it can. */
  readonly problem: string | undefined;
}

/** By type URL. Lists that did not change are the same objects. */
export type HeldResources = ReadonlyMap<string, readonly HeldResource[]>;

/** What one response carried. */
export interface ReceivedResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  /** The digest after the whole update; empty: the server does not send it. */
  readonly digest: string;
  readonly names: ReadonlySet<string>;
}

interface HeldType {
  readonly type: ResourceType;
  readonly byName: Map<string, HeldResource>;
  /** Undefined: has to be built again. */
  listed: { readonly resources: readonly HeldResource[]; readonly messages: readonly ResourceMessage[] } | undefined;
}

export class ResourceBook {
  readonly #gateway: string;
  readonly #types = new Map<string, HeldType>();
  readonly #digest = new Digest();
  #isChanged = false;

  /** `gateway` is namespace/name. `initial` is what was served before a restart. */
  constructor(gateway: string, initial: HeldResources = new Map()) {
    this.#gateway = gateway;
    for (const type of resourceTypes) {
      const resources = initial.get(type.typeUrl) ?? [];
      const byName = new Map(resources.map((resource) => [resource.name, resource]));
      for (const { name, version } of byName.values()) this.#digest.add(type.typeUrl, name, version);
      this.#types.set(type.typeUrl, { type, byName, listed: undefined });
    }
  }

  /** Of everything that was received. */
  get digest(): string {
    return this.#digest.toString();
  }

  /** Whether anything came since the last call of `takeConfiguration`. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Applies a response. */
  receive(response: DeltaDiscoveryResponse): ReceivedResponse {
    const { typeUrl, nonce, systemVersionInfo: digest } = response;
    const held = this.#types.get(typeUrl);
    // We did not subscribe to this type.
    if (held === undefined) return { typeUrl, nonce, digest, names: new Set() };
    for (const resource of response.resources) this.#put(held, resource);
    for (const name of response.removedResources) this.#remove(held, name);
    return { typeUrl, nonce, digest, names: new Set(response.resources.map(({ name }) => name)) };
  }

  /** Everything as one configuration, and as resources. Lists and messages that did not change are the same objects as before. */
  takeConfiguration(): { readonly configuration: Configuration; readonly resources: HeldResources } {
    this.#isChanged = false;
    const configuration: Partial<Record<keyof Configuration, readonly ResourceMessage[]>> = {};
    const resources = new Map<string, readonly HeldResource[]>();
    for (const [typeUrl, held] of this.#types) {
      held.listed ??= listResources(held.byName);
      configuration[held.type.list] = held.listed.messages;
      resources.set(typeUrl, held.listed.resources);
    }
    return { configuration: configuration as unknown as Configuration, resources };
  }

  /** The problems of resources that cannot be read. */
  *listProblems(): Generator<{ readonly typeUrl: string; readonly name: string; readonly reason: string }> {
    for (const [typeUrl, { byName }] of this.#types)
      for (const { name, problem } of byName.values())
        if (problem !== undefined) yield { typeUrl, name, reason: problem };
  }

  has(typeUrl: string, name: string): boolean {
    return this.#types.get(typeUrl)?.byName.has(name) ?? false;
  }

  /** The versions to offer for resumption. `mustBeSent`: resources that the server has to send again or report as removed. */
  listVersions(typeUrl: string, mustBeSent: (name: string) => boolean): Record<string, string> {
    const versions: Record<string, string> = {};
    for (const { name, version, problem } of this.#types.get(typeUrl)?.byName.values() ?? [])
      versions[name] = problem !== undefined || mustBeSent(name) ? '' : version;
    return versions;
  }

  #put(held: HeldType, resource: Resource): void {
    const { name, version } = resource;
    const before = held.byName.get(name);
    if (before !== undefined && before.version === version && before.problem === undefined) return;
    const { typeUrl } = held.type;
    if (before !== undefined) this.#digest.remove(typeUrl, name, before.version);
    this.#digest.add(typeUrl, name, version);
    this.#set(held, name, this.#read(held.type, resource, before));
  }

  #remove(held: HeldType, name: string): void {
    const before = held.byName.get(name);
    if (before === undefined) return;
    this.#digest.remove(held.type.typeUrl, name, before.version);
    this.#set(held, name, undefined);
  }

  #set(held: HeldType, name: string, resource: HeldResource | undefined): void {
    if (resource === undefined) held.byName.delete(name);
    else held.byName.set(name, resource);
    held.listed = undefined;
    this.#isChanged = true;
  }

  #read(type: ResourceType, { name, version, resource }: Resource, before: HeldResource | undefined): HeldResource {
    const read = readMessage(type, name, resource);
    if (read.ok) return { name, version, message: read.message, problem: undefined };
    const { problem, target } = read;
    const message = type.list === 'policies' ? this.#closePolicy(name, before, problem, target) : before?.message;
    return { name, version, message, problem };
  }

  /**
   * The target of a policy is part of its name, so an unreadable version has the target of the last good one. A policy that was never read may be
   * meant for anything in its namespace, and one without a namespace for anything at all.
   */
  #closePolicy(
    name: string,
    before: HeldResource | undefined,
    problem: string,
    readable: PolicyTarget | undefined,
  ): Policy {
    const known = before?.message as Policy | undefined;
    const [, namespace, policy] = /^([^/]+)\/([^/]+)\//.exec(name) ?? [];
    const [gatewayNamespace = '', gateway = ''] = this.#gateway.split('/');
    const target: Pick<PolicyTarget, 'kind' | 'namespace' | 'name'> =
      readable ??
      known?.target ??
      (namespace === undefined
        ? { kind: PolicyTargetKind.GATEWAY, namespace: gatewayNamespace, name: gateway }
        : { kind: PolicyTargetKind.NAMESPACE, namespace, name: '' });
    return create(PolicySchema, {
      key: name,
      source: known?.source ?? (namespace === undefined ? name : `${namespace}/${policy}`),
      target,
      spec: { case: 'failure', value: { status: 500, reason: 'PolicyNotReadable', message: problem } },
    });
  }
}

type ReadMessage =
  | { readonly ok: true; readonly message: ResourceMessage }
  | {
      readonly ok: false;
      readonly problem: string;
      /** Of a policy, where that much of it can be read. */
      readonly target?: PolicyTarget | undefined;
    };

function readMessage(type: ResourceType, name: string, any: Resource['resource']): ReadMessage {
  if (any === undefined) return { ok: false, problem: 'the resource has no content' };
  if (any.typeUrl !== type.typeUrl)
    return { ok: false, problem: `the resource is a ${any.typeUrl}, not a ${type.typeUrl}` };
  let message: ResourceMessage;
  try {
    message = fromBinary(type.schema, any.value) as ResourceMessage;
  } catch (error) {
    return { ok: false, problem: `the resource cannot be decoded: ${String(error)}` };
  }
  if (message.key !== name)
    return {
      ok: false,
      problem: `the resource has the key ${JSON.stringify(message.key)}, which differs from its name`,
    };
  const unknown = findUnknownContent(type.schema, message);
  if (unknown === undefined) return { ok: true, message };
  const problem = `the resource has content that this gateway does not know: ${unknown}; upgrade the gateway`;
  return { ok: false, problem, target: readTarget(message) };
}

/** Unknown content elsewhere does not change the target of the policy. */
function readTarget(message: ResourceMessage): PolicyTarget | undefined {
  const target = message.$typeName === PolicySchema.typeName ? message.target : undefined;
  return target !== undefined && findUnknownContent(PolicyTargetSchema, target) === undefined ? target : undefined;
}

/** Sorted by name, as later steps need them. The map is reordered, too, so that usually there is nothing to sort. */
function listResources(byName: Map<string, HeldResource>): NonNullable<HeldType['listed']> {
  let resources = [...byName.values()];
  const isInOrder = resources.every((each, index) => index === 0 || resources[index - 1]!.name < each.name);
  if (!isInOrder) {
    resources = resources.toSorted((left, right) => (left.name < right.name ? -1 : 1));
    byName.clear();
    for (const resource of resources) byName.set(resource.name, resource);
  }
  const messages: ResourceMessage[] = [];
  for (const { message } of resources) if (message !== undefined) messages.push(message);
  return { resources, messages };
}
