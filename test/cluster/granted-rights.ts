// The rights that the chart gives the controller, one by one, and how to take some of them away from it while it runs.
import type { RenderedObject } from '../chart/rendering.ts';
import type { AskedAuthorization, Cluster } from './cluster.ts';

/** One verb on one resource. */
export interface Right {
  /** `ClusterRole proxy-reader` */
  readonly role: string;
  /** Set: in this namespace only. */
  readonly namespace: string | undefined;
  readonly group: string;
  /** `gateways`, `gateways/status` */
  readonly resource: string;
  readonly verb: string;
  /** Set: for the object of this name only. */
  readonly name: string | undefined;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** `apps/deployments create`, `core/secrets create in proxy-system`, `coordination.k8s.io/leases get proxy-controller in proxy-system` */
export function formatRight({ group, resource, verb, name, namespace }: Omit<Right, 'role'>): string {
  const words = [`${group === '' ? 'core' : group}/${resource}`, verb, name, namespace && `in ${namespace}`];
  return words.filter((word) => word !== undefined).join(' ');
}

/** How the API server words that somebody has not got a right. */
export function formatRefusal({ group, resource, verb }: Right): string {
  return `cannot ${verb} resource "${resource}" in API group "${group}"`;
}

/** Every right of roles. */
export function listRights(roles: readonly RenderedObject[]): readonly Right[] {
  return roles.flatMap(({ kind, metadata, rules }) =>
    (rules as readonly Rule[]).flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.flatMap((verb) =>
            resourceNames.map((name) => ({
              role: `${kind} ${metadata.name}`,
              namespace: kind === 'Role' ? metadata.namespace : undefined,
              group,
              resource,
              verb,
              name,
            })),
          ),
        ),
      ),
    ),
  );
}

/** Whether a right lets somebody do what was asked for. */
export function isCovered(asked: AskedAuthorization, right: Right): boolean {
  const resource = asked.subresource === '' ? asked.resource : `${asked.resource}/${asked.subresource}`;
  return (
    right.group === asked.group &&
    right.resource === resource &&
    right.verb === asked.verb &&
    (right.name === undefined || right.name === asked.name) &&
    (right.namespace === undefined || right.namespace === asked.namespace)
  );
}

/** The rights of the controller in a cluster, which change while it runs. */
export class LiveRights {
  readonly #cluster: Cluster;
  readonly #user: string;
  readonly #all: readonly Right[];
  #taken: ReadonlySet<Right> = new Set();

  constructor(cluster: Cluster, user: string, all: readonly Right[]) {
    this.#cluster = cluster;
    this.#user = user;
    this.#all = all;
  }

  /** The one with this name, as `formatRight` has it. */
  get(name: string): Right {
    const found = this.#all.filter((right) => formatRight(right) === name);
    if (found.length !== 1) throw new Error(`${found.length} rights ${name}`);
    return found[0]!;
  }

  async take(rights: readonly Right[]): Promise<void> {
    await this.#set(this.#taken.union(new Set(rights)));
  }

  async give(rights: readonly Right[]): Promise<void> {
    await this.#set(this.#taken.difference(new Set(rights)));
  }

  /** Writes the roles, and waits until the API server goes by them. */
  async #set(taken: ReadonlySet<Right>): Promise<void> {
    const changed = taken.symmetricDifference(this.#taken);
    this.#taken = taken;
    for (const role of new Set(Array.from(changed, (right) => right.role))) await this.#write(role);
    for (const right of changed) {
      const isGiven = !taken.has(right);
      await this.#cluster.waitFor(async () => (await this.#isAllowed(right)) === isGiven, {
        what: `the controller ${isGiven ? 'may' : 'may not'} ${formatRight(right)}`,
      });
    }
  }

  async #write(role: string): Promise<void> {
    const own = this.#all.filter((right) => right.role === role);
    const namespace = own[0]?.namespace;
    const [kind, name] = role.split(' ');
    const place = namespace === undefined ? '' : `namespaces/${namespace}/`;
    const path = `/apis/rbac.authorization.k8s.io/v1/${place}${kind === 'Role' ? 'roles' : 'clusterroles'}/${name}`;
    const rules = own
      .filter((right) => !this.#taken.has(right))
      .map((right) => ({
        apiGroups: [right.group],
        resources: [right.resource],
        verbs: [right.verb],
        ...(right.name !== undefined && { resourceNames: [right.name] }),
      }));
    await this.#cluster.api.patch(path, { rules });
  }

  async #isAllowed({ group, resource, verb, name, namespace }: Right): Promise<boolean> {
    const [plural, subresource] = resource.split('/');
    const resourceAttributes = { group, resource: plural, subresource, verb, name, namespace };
    const { status } = await this.#cluster.api.create<{ status: { allowed: boolean } }>(
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      { spec: { user: this.#user, resourceAttributes } },
    );
    return status.allowed;
  }
}
