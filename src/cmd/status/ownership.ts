// Whose resource it is. A cluster may have several controllers for Gateways; resources of other controllers are left out.
import { controllerName } from '../../api/gateway-class.ts';
import { readList, readMember, readText } from '../../translate/read-raw.ts';
import { type ClusterView, findScope, listObjects } from './cluster-view.ts';

/** What can be told about the class of a Gateway. */
type ClassOwner = 'ours' | 'of-another' | 'missing' | 'unknown';

/** What can be told about a Gateway by its name. `out-of-sight`: it is in a namespace that was not read. */
type GatewayOwner = 'ours' | 'of-another' | 'missing' | 'out-of-sight';

/** Answers from what was read. */
export interface Ownership {
  findClass(name: string): ClassOwner;
  findGateway(namespace: string, name: string): GatewayOwner;
  /** Names of our classes. */
  readonly classes: readonly string[];
}

/** Reads who owns which class and Gateway. */
export function readOwnership(view: ClusterView): Ownership {
  const classes = new Map<string, ClassOwner>();
  for (const object of listObjects(view, 'GatewayClass'))
    classes.set(
      object.metadata.name,
      readText(object, 'spec', 'controllerName') === controllerName ? 'ours' : 'of-another',
    );
  const absent: ClassOwner = view.kinds.GatewayClass.state === 'read' ? 'missing' : 'unknown';
  const findClass = (name: string): ClassOwner => classes.get(name) ?? absent;

  const gateways = new Map<string, GatewayOwner>();
  for (const object of listObjects(view, 'Gateway')) {
    const owner = findClass(readText(object, 'spec', 'gatewayClassName') ?? '');
    gateways.set(
      `${object.metadata.namespace ?? ''}/${object.metadata.name}`,
      owner === 'of-another' ? 'of-another' : 'ours',
    );
  }
  const scope = findScope('Gateway', view);
  return {
    findClass,
    findGateway(namespace, name) {
      const isVisible = view.kinds.Gateway.state === 'read' && (scope === undefined || scope === namespace);
      return gateways.get(`${namespace}/${name}`) ?? (isVisible ? 'missing' : 'out-of-sight');
    },
    classes: [...classes].filter(([, owner]) => owner === 'ours').map(([name]) => name),
  };
}

/** Entries of a status that controllers share (`parents`, `ancestors`), split into ours and others'. */
export function splitEntries(
  status: unknown,
  list: 'parents' | 'ancestors',
): { readonly ours: readonly unknown[]; readonly others: readonly unknown[] } {
  const entries = readList(status, list) ?? [];
  const isOurs = (entry: unknown): boolean => readMember(entry, 'controllerName') === controllerName;
  return { ours: entries.filter(isOurs), others: entries.filter((entry) => !isOurs(entry)) };
}
