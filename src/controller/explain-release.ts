// Why a Gateway that we looked after is not ours any more, in words for its owner.
import type { Resources } from '../api/resources.ts';
import type { GatewayRelease } from './write-statuses.ts';

/** Undefined: it is gone, and there is nothing to explain. `namespaces` are those that are looked after; undefined: all. */
export function explainRelease(
  gateway: string,
  { gateways, invalid }: Resources,
  namespaces: ReadonlySet<string> | undefined,
): GatewayRelease | undefined {
  const [namespace = '', name = ''] = gateway.split('/');
  if (namespaces?.has(namespace) === false)
    return {
      message: `Namespace ${namespace} is not among those that the controller looks after any more (discoveryNamespaceSelectors). What was deployed keeps serving what it last got.`,
      isOfAnother: false,
    };
  const found = gateways.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  if (found !== undefined)
    return {
      message: `GatewayClass ${found.spec.gatewayClassName} does not exist, or is of another controller. Waiting for the controller of that class.`,
      isOfAnother: true,
    };
  const isInvalid = invalid.some(
    (each) => each.kind === 'Gateway' && each.namespace === namespace && each.name === name,
  );
  if (!isInvalid) return undefined;
  return {
    message: 'The class of the Gateway is not one of this controller. Waiting for its controller.',
    isOfAnother: true,
  };
}
