// Explains to the owner of a Gateway why this controller no longer manages it.
import type { Resources } from '../api/resources.ts';
import type { GatewayRelease } from './write-statuses.ts';

/** Undefined: the Gateway was deleted, and there is nothing to explain. `namespaces` are the selected ones; undefined: all. */
export function explainRelease(
  gateway: string,
  { gateways, invalid }: Resources,
  namespaces: ReadonlySet<string> | undefined,
): GatewayRelease | undefined {
  const [namespace = '', name = ''] = gateway.split('/');
  if (namespaces?.has(namespace) === false)
    return {
      message: `Namespace ${namespace} is no longer selected by the controller (discoveryNamespaceSelectors). The deployed gateway keeps serving its last configuration.`,
      isOfAnother: false,
    };
  const found = gateways.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  if (found !== undefined)
    return {
      message: `GatewayClass ${found.spec.gatewayClassName} does not exist or belongs to another controller. Waiting for the controller of that class.`,
      isOfAnother: true,
    };
  const isInvalid = invalid.some(
    (each) => each.kind === 'Gateway' && each.namespace === namespace && each.name === name,
  );
  if (!isInvalid) return undefined;
  return {
    message: 'The class of this Gateway does not belong to this controller. Waiting for the controller of that class.',
    isOfAnother: true,
  };
}
