// The identity that the node message of a discovery stream claims: the process and its Gateway.
import type { Node } from '../ir/gen/discovery_pb.ts';

/** Claims, until the peer is authorized. */
export interface NodeIdentity {
  readonly nodeId: string;
  /** namespace/name */
  readonly gateway: string;
  /** Of the program; empty: not said. */
  readonly version: string;
}

/** Kubernetes names are no longer than this. */
const maxNameLength = 253;

/** Reads the node; the problem names the field. */
export function readNodeIdentity(node: Node | undefined): NodeIdentity | { readonly problem: string } {
  if (node === undefined) return { problem: 'the first request of a stream must have a node' };
  const { id, metadata } = node;
  if (!isName(id)) return { problem: `node.id must be the name of the process, 1 to ${maxNameLength} characters` };
  const namespace = metadata?.['namespace'];
  const gateway = metadata?.['gateway'];
  if (!isName(namespace)) return { problem: 'node.metadata.namespace must be the namespace of the Gateway' };
  if (!isName(gateway)) return { problem: 'node.metadata.gateway must be the name of the Gateway' };
  const { userAgentVersionType: version } = node;
  return {
    nodeId: id,
    gateway: `${namespace}/${gateway}`,
    version: version.case === 'userAgentVersion' ? version.value.slice(0, maxNameLength) : '',
  };
}

/** A `/` in one of the names would turn the pair into another Gateway. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= maxNameLength && !value.includes('/');
}
